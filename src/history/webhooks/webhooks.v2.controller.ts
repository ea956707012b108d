import {
  Body,
  ConflictException,
  Controller,
  Delete,
  ForbiddenException,
  Get,
  HttpCode,
  HttpStatus,
  NotFoundException,
  Param,
  Patch,
  Post,
  Query,
  Req,
  UseFilters,
} from '@nestjs/common';
import type { Request } from 'express';
import type { Address } from 'viem';
import { AppConfig } from '../../platform/config/app-config.js';
import {
  type Audience,
  audienceOf,
  callerOf,
  RateLimited,
  RequireScope,
} from '../../platform/http/access.js';
import { Answer, HttpRefusal } from '../../platform/http/answer.js';
import { invalidQuery, invalidRequest } from '../../platform/http/coded-error.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { unavailableFilter } from '../../platform/http/unavailable.filter.js';
import { limitHeaders } from '../../platform/rate-limit/rate-limiter.js';
import { placeOf } from '../../protocol/diagnosis/place.js';
import {
  DeliveriesQueryDto,
  WebhookChangeDto,
  WebhookCreationDto,
  WebhookReplayDto,
} from './dto/webhook.dto.js';
import {
  NewWebhook,
  WebhookDeliveries,
  WebhookReplayed,
  Webhooks,
  WebhookSecret,
  WebhookTest,
  WebhookView,
} from './dto/webhook.response.js';
import { LANE_EVENTS } from './lane-levels.js';
import { PostgresWebhooks } from './postgres-webhooks.js';
import { SETTLEMENT_EVENTS } from './settlement-events.js';
import { WebhookSecrets } from './signature.js';
import { type EventType, REPLAY_MAX, SECRETS_MAX, type Webhook, WEBHOOKS_MAX } from './webhook.js';
import { NO_SUCH_WEBHOOK, WebhookIdPipe } from './webhook-id.pipe.js';
import { type CountedRequest, WebhookLimits } from './webhook-limits.js';
import { brokenUrlRule } from './webhook-url.js';
import { deliveryViewOf, viewOf } from './webhook-view.js';
import { CONFLICT, Describes, DONE, EXAMPLES, INVALID, UNKNOWN } from './webhooks.openapi.js';

/** Webhooks of the owner of an API key. */
@Controller('v2/webhooks')
@RequireScope('history')
@RateLimited('lookup')
@UseFilters(unavailableFilter('The database of the webhooks is unavailable. Try again.'))
export class WebhooksV2Controller {
  constructor(
    private readonly store: PostgresWebhooks,
    private readonly secrets: WebhookSecrets,
    private readonly config: AppConfig,
    private readonly limits: WebhookLimits,
  ) {}

  @Post()
  @Describes(
    'createWebhook',
    'Create a webhook',
    {
      201: jsonAnswer('The new webhook, with its secret.', NewWebhook, EXAMPLES.made, ['Location']),
      ...INVALID,
      ...CONFLICT,
    },
    `At most ${WEBHOOKS_MAX} webhooks per API key. Without \`payees\` the webhook gets the events of all payees that the key may list. ` +
      '`lane.low` is sent only for keys with the scope `admin`, which need no payees for it. ' +
      'Only this answer contains the secret. ' +
      'The first event is `webhook.challenge`. The URL gets no other event until it has answered with the challenge in that event.',
  )
  async create(
    @Body() { url, description, events, payees }: WebhookCreationDto,
    @Req() request: Request,
  ): Promise<Answer<NewWebhook>> {
    const audience = audienceOf(request);
    this.#checkUrl(url);
    const chosen = payees ?? [...audience.payees];
    checkPayees(chosen, audience);
    checkEvents(events, audience);
    const fields = { url, description, events, payees: chosen };
    const owner = ownerOf(request);
    await this.#count('send', owner);
    const webhook = await this.store.create(owner, fields);
    if (webhook === 'too_many') {
      throw new ConflictException(
        `This API key has ${WEBHOOKS_MAX} webhooks, which is the maximum. Delete one first.`,
      );
    }
    const [name = ''] = webhook.secretNames;
    const created = { ...viewOf(webhook), secret: this.secrets.textOf(webhook.id, name) };
    return new Answer(created, { Location: `/v2/webhooks/${webhook.id}` });
  }

  @Get()
  @Describes('webhooks', 'Webhooks of the API key', {
    200: jsonAnswer('All webhooks of the API key.', Webhooks, { webhooks: [EXAMPLES.webhook] }),
  })
  async list(@Req() request: Request): Promise<Webhooks> {
    const webhooks = await this.store.list(ownerOf(request));
    return { webhooks: webhooks.map(viewOf) };
  }

  @Get(':id')
  @Describes('webhook', 'A webhook', {
    200: jsonAnswer('The webhook.', WebhookView, EXAMPLES.webhook),
    ...UNKNOWN,
  })
  async find(
    @Param('id', WebhookIdPipe) id: string,
    @Req() request: Request,
  ): Promise<WebhookView> {
    return viewOf(await this.#own(request, id));
  }

  @Patch(':id')
  @Describes(
    'changeWebhook',
    'Change a webhook, disable it, enable it again',
    {
      200: jsonAnswer('The changed webhook.', WebhookView, EXAMPLES.webhook),
      ...INVALID,
      ...UNKNOWN,
    },
    'A new URL gets a new challenge.',
  )
  async change(
    @Param('id', WebhookIdPipe) id: string,
    @Body() change: WebhookChangeDto,
    @Req() request: Request,
  ): Promise<WebhookView> {
    const audience = audienceOf(request);
    const { url, payees, events, enabled } = change;
    if (url !== undefined) this.#checkUrl(url);
    if (payees !== undefined) checkPayees(payees, audience);
    if (events !== undefined) checkEvents(events, audience);
    const webhook = await this.#own(request, id);
    if (payees === undefined && events?.some(isOfSettlement) === true) {
      if (webhook.payees.length === 0) {
        const message = 'payees: required for events of settlements.';
        throw invalidRequest(message, placeOf('payees', 'a list of payees', payees));
      }
    }
    const isMoved = url !== undefined && url !== webhook.url;
    if (isMoved || (enabled === true && webhook.confirmedAt === undefined)) {
      await this.#count('send', webhook.owner, id);
    }
    return viewOf(known(await this.store.change(ownerOf(request), id, change)));
  }

  @Delete(':id')
  @HttpCode(204)
  @Describes('deleteWebhook', 'Delete a webhook', { ...DONE, ...UNKNOWN })
  async remove(@Param('id', WebhookIdPipe) id: string, @Req() request: Request): Promise<void> {
    if (!(await this.store.remove(ownerOf(request), id))) {
      throw new NotFoundException(NO_SUCH_WEBHOOK);
    }
  }

  @Post(':id/secrets')
  @Describes(
    'addWebhookSecret',
    'Add a secret',
    { 201: jsonAnswer('The new secret.', WebhookSecret, EXAMPLES.secret), ...UNKNOWN, ...CONFLICT },
    `At most ${SECRETS_MAX} secrets per webhook. Each event is signed with every secret.`,
  )
  async addSecret(
    @Param('id', WebhookIdPipe) id: string,
    @Req() request: Request,
  ): Promise<WebhookSecret> {
    const added = known(await this.store.addSecret(ownerOf(request), id));
    if (added === 'too_many') {
      throw new ConflictException(
        `The webhook has ${SECRETS_MAX} secrets, which is the maximum. Remove one first.`,
      );
    }
    return { id: added.name, secret: this.secrets.textOf(id, added.name) };
  }

  @Delete(':id/secrets/:secretId')
  @HttpCode(204)
  @Describes('deleteWebhookSecret', 'Remove a secret', {
    ...DONE,
    ...UNKNOWN,
    ...CONFLICT,
  })
  async removeSecret(
    @Param('id', WebhookIdPipe) id: string,
    @Param('secretId', WebhookIdPipe) name: string,
    @Req() request: Request,
  ): Promise<void> {
    const removed = known(await this.store.removeSecret(ownerOf(request), id, name));
    if (removed === 'last')
      throw new ConflictException('A webhook needs a secret: its last one cannot be removed.');
  }

  @Post(':id/test')
  @HttpCode(202)
  @Describes(
    'testWebhook',
    'Send an event `webhook.test`',
    {
      202: jsonAnswer('The event is queued.', WebhookTest, { eventId: EXAMPLES.eventId }),
      ...UNKNOWN,
      ...CONFLICT,
    },
    'If the URL has not answered its challenge yet, a new challenge is sent instead.',
  )
  async test(
    @Param('id', WebhookIdPipe) id: string,
    @Req() request: Request,
  ): Promise<WebhookTest> {
    const webhook = await this.#own(request, id);
    if (webhook.disabled !== undefined) throw new ConflictException('The webhook is disabled.');
    await this.#count('send', webhook.owner, id);
    return { eventId: await this.store.test(webhook) };
  }

  @Post(':id/replay')
  @HttpCode(202)
  @Describes(
    'replayWebhook',
    'Replay events',
    {
      202: jsonAnswer('The events are queued.', WebhookReplayed, { events: 12 }),
      ...INVALID,
      ...UNKNOWN,
    },
    `At most ${REPLAY_MAX} events per request; \`next\` is \`after\` of the next request. Events keep their ids. ` +
      'Events are kept for 30 days.',
  )
  async replay(
    @Param('id', WebhookIdPipe) id: string,
    @Body() { after, since }: WebhookReplayDto,
    @Req() request: Request,
  ): Promise<WebhookReplayed> {
    const { payees, isOperator } = audienceOf(request);
    if (after === undefined && since === undefined) {
      throw invalidRequest('Give `after` or `since`.');
    }
    const webhook = await this.#own(request, id);
    await this.#count('replay', webhook.owner, id);
    const replayed = await this.store.replay(webhook, {
      ...(after !== undefined && { after }),
      ...(since !== undefined && { since: new Date(since) }),
      payees,
      isOperator,
    });
    if (replayed === undefined) {
      const message = 'after: the webhook has no event with this id.';
      throw invalidRequest(message, placeOf('after', AN_EVENT, after));
    }
    const { events, next } = replayed;
    return { events, ...(next !== undefined && { next }) };
  }

  @Get(':id/deliveries')
  @Describes('webhookDeliveries', 'Deliveries of a webhook, with the answers', {
    200: jsonAnswer('Newest first.', WebhookDeliveries, EXAMPLES.deliveries),
    ...INVALID,
    ...UNKNOWN,
  })
  async deliveries(
    @Param('id', WebhookIdPipe) id: string,
    @Query() { limit, before }: DeliveriesQueryDto,
    @Req() request: Request,
  ): Promise<WebhookDeliveries> {
    const webhook = await this.#own(request, id);
    const found = await this.store.deliveries(webhook, limit, before);
    if (found === undefined) {
      const message = 'before: the webhook has no event with this id.';
      throw invalidQuery(message, placeOf('before', AN_EVENT, before));
    }
    const next = found.length === limit ? found.at(-1)?.eventId : undefined;
    const deliveries = found.map(deliveryViewOf);
    return { deliveries, ...(next !== undefined && { next }) };
  }

  async #own(request: Request, id: string): Promise<Webhook> {
    return known(await this.store.find(ownerOf(request), id));
  }

  /** Always limited, because the request makes this service post to another server. */
  async #count(asked: CountedRequest, owner: string, id?: string): Promise<void> {
    const refusal = await this.limits.refusalOf(asked, owner, id);
    if (refusal === undefined) return;
    const headers = { ...limitHeaders(refusal), 'Retry-After': refusal.retryAfterSeconds };
    throw new HttpRefusal('Too many requests.', HttpStatus.TOO_MANY_REQUESTS, headers);
  }

  #checkUrl(url: string): void {
    const expected = brokenUrlRule(url, this.config.webhooks?.allow ?? new Set());
    if (expected === undefined) return;
    throw invalidRequest(`url must be ${expected}.`, placeOf('url', expected, url));
  }
}

/** @throws ForbiddenException for a payee that the key may not list. */
function checkPayees(payees: readonly Address[], { payees: allowed }: Audience): void {
  if (payees.every((payee) => allowed.has(payee))) return;
  throw new ForbiddenException('The payees of this API key do not include all of these payees.');
}

/** @throws ForbiddenException for events that the key may not read. */
function checkEvents(events: readonly EventType[], { payees, isOperator }: Audience): void {
  const isOfLane = events.some((type) => LANE_EVENTS.some((name) => name === type));
  if (isOfLane && !isOperator) {
    throw new ForbiddenException('Events of lanes require an API key with the scope `admin`.');
  }
  if (events.some(isOfSettlement) && payees.size === 0) {
    throw new ForbiddenException('Events of settlements require an API key with payees.');
  }
}

function isOfSettlement(type: EventType): boolean {
  return SETTLEMENT_EVENTS.some((name) => name === type);
}

const AN_EVENT = 'the id of an event of this webhook';

/** With webhooks enabled there are API keys, and the scope check refuses a request without one. */
function ownerOf(request: Request): string {
  const owner = callerOf(request);
  if (owner === undefined) throw new ForbiddenException();
  return owner;
}

function known<T>(found: T | undefined): T {
  if (found === undefined) throw new NotFoundException(NO_SUCH_WEBHOOK);
  return found;
}
