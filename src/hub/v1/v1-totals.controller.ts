import { Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { jsonAnswer, text } from '../../platform/http/openapi.js';
import { accountRow } from '../api/lists.js';
import { type StatRow, statRows } from '../api/statistics.js';
import type { Caller } from '../auth/caller.js';
import { Describes, OWNER_IN_PATH, refusal } from '../hub.openapi.js';
import { HubService } from '../hub.service.js';
import { HubListing } from '../index/hub-listing.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { sendJsonPieces } from '../wire/json-pieces.js';
import { HubOverview, HubOwner } from './dto/v1.response.js';
import { daysIn, messagesPage, V1ConversationDto, V1StatsDto } from './dto/v1-query.dto.js';
import { CurrentCaller, HubV1, ownerNeeded, V1Access } from './hub-v1.js';

const BYTES_OF_GB = 1e9;

/** Conversations, owners and totals, and the parts of the original that this hub does not offer. */
@HubV1()
export class V1TotalsController {
  constructor(
    private readonly config: AppConfig,
    private readonly hub: HubService,
    private readonly listing: HubListing,
    private readonly limits: HubLimits,
  ) {}

  /** `null` for an owner without conversations. */
  @Get('conversations')
  @V1Access('list')
  @Describes('hubConversations', 'Conversations of an owner, newest first.', {
    hasNoOwner: true,
    answer: jsonAnswer('Their names.', 'HubConversations', { conversations: ['chat'] }),
  })
  async conversations(
    @Query() query: V1ConversationDto,
    @CurrentCaller() caller: Caller,
  ): Promise<object> {
    const owner = ownerNeeded(caller, query.owner);
    const found = await this.listing.conversations(owner, messagesPage(query));
    return { conversations: found.length === 0 ? null : found.map(({ name }) => name) };
  }

  @Get('conversations/:id')
  @V1Access('read')
  @ApiParam({ name: 'id', schema: text })
  @Describes('hubMessages', 'Texts of a conversation, in their order.', {
    hasNoOwner: true,
    answer: jsonAnswer('The texts.', 'HubMessages', { conversation: 'chat', messages: ['hi'] }),
  })
  async conversation(
    @Param('id') id: string,
    @Query() query: V1ConversationDto,
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const owner = caller.ownerOfRead(query.owner);
    if (owner === '') throw HubRefusal.malformed('owner is required');
    this.limits.takeStream(request, response);
    const isOwn = caller.signer === owner;
    const texts = this.hub.conversation({ owner, id }, messagesPage(query), isOwn);
    await sendJsonPieces(response, answerOf(id, texts));
  }

  @Get('owners/:owner')
  @V1Access('list')
  @ApiParam(OWNER_IN_PATH)
  @Describes('hubOwner', 'The time of the first upload of an owner.', {
    hasNoOwner: true,
    answer: jsonAnswer('The owner, with the fields of the original hub.', HubOwner),
    more: { 404: refusal('The owner has stored nothing here.', 'no such owner: alice') },
  })
  async owner(@Param('owner') given: string, @CurrentCaller() caller: Caller): Promise<HubOwner> {
    const owner = ownerNeeded(caller, given);
    const [account] = await this.listing.account(owner);
    if (account === undefined) throw HubRefusal.notFound(`no such owner: ${owner}`);
    return { owner, account: accountRow(account) };
  }

  /** Counts of the last days, newest first. */
  @Get('stats')
  @Describes('hubStats', 'Counts of the last days, newest first.', {
    hasNoOwner: true,
    answer: jsonAnswer('Days of a public hub, with the fields of the original hub.', 'HubRows'),
  })
  async stats(@Query() query: V1StatsDto): Promise<readonly StatRow[]> {
    this.#assertPublic();
    return statRows(await this.listing.days(), daysIn(query), Date.now());
  }

  @Get('overview')
  @Describes('hubOverview', 'Totals of a public hub.', {
    hasNoOwner: true,
    answer: jsonAnswer('The totals.', HubOverview),
  })
  async overview(): Promise<HubOverview> {
    this.#assertPublic();
    const { seen, owners, objects, bytes } = await this.listing.totals();
    return {
      totalAddresses: seen,
      walletsWithMemory: owners,
      memoryCount: objects,
      memoryBytes: bytes,
      memoryGB: bytes / BYTES_OF_GB,
      computedAt: Math.floor(Date.now() / 1000),
    };
  }

  @Get(['buckets/:bucket/objects/:key/proof', 'pieces/:name/content'])
  proof(): never {
    throw HubRefusal.notOffered('not offered: this hub submits nothing to a chain');
  }

  @Post('seal')
  seal(): never {
    throw HubRefusal.notOffered('not offered: this hub submits nothing to a chain');
  }

  /** @throws HubRefusal: a private hub has no public totals. */
  #assertPublic(): void {
    if (this.config.hub.isPrivate) throw HubRefusal.forbidden('a private hub has no statistics');
  }
}

async function* answerOf(id: string, texts: AsyncGenerator<string>): AsyncGenerator<string> {
  let before = `{"conversation":${JSON.stringify(id)},"messages":`;
  for await (const piece of texts) {
    yield before + piece;
    before = '';
  }
  yield '}';
}
