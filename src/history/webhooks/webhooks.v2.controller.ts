import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Delete,
  ForbiddenException,
  Get,
  HttpCode,
  HttpException,
  HttpStatus,
  NotFoundException,
  Param,
  Patch,
  Post,
  Query,
  Req,
  Res,
  UseFilters,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Address } from 'viem';
import { AppConfig } from '../../platform/config/app-config.js';
import {
  type Audience,
  audienceOf,
  callerOf,
  RateLimited,
  RequireScope,
} from '../../platform/http/access.js';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { unavailableFilter } from '../../platform/http/unavailable.filter.js';
import { limitHeaders } from '../../platform/rate-limit/rate-limiter.js';
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
import { type CountedRequest, WebhookLimits } from './webhook-limits.js';
import { problemOfUrl } from './webhook-url.js';
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
    { 201: jsonAnswer('Made.', NewWebhook, EXAMPLES.made, ['Location']), ...INVALID, ...CONFLICT },
    `At most ${WEBHOOKS_MAX} of an API key. Without \`payees\` it gets the events of all payees that the key may list. ` +
      '`lane.low` is sent only for keys with the scope `admin`, which need no payees for it. ' +
      'The secret is in this answer and in no other. ' +
      'The URL is sent an event `webhook.challenge` first, and nothing else until it has answered with what that holds.',
  )
  async create(
    @Body() { url, description, events, payees }: WebhookCreationDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<NewWebhook> {
    const audience = audienceOf(request, response);
    this.#checkUrl(url);
    const chosen = payees ?? [...audience.payees];
    checkPayees(chosen, audience);
    checkEvents(events, audience);
    const fields = { url, description, events, payees: chosen };
    const owner = ownerOf(request);
    await this.#count('send', response, owner);
    const webhook = await this.store.create(owner, fields);
    if (webhook === 'too_many') {
      throw new ConflictException(`An API key may have ${WEBHOOKS_MAX} webhooks.`);
    }
    const [name = ''] = webhook.secretNames;
    response.setHeader('Location', `/v2/webhooks/${webhook.id}`);
    return { ...viewOf(webhook), secret: this.secrets.textOf(webhook.id, name) };
  }

  @Get()
  @Describes('webhooks', 'Webhooks of the API key', {
    200: jsonAnswer('All of them.', Webhooks, { webhooks: [EXAMPLES.webhook] }),
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
  async find(@Param('id') id: string, @Req() request: Request): Promise<WebhookView> {
    return viewOf(await this.#own(request, id));
  }

  @Patch(':id')
  @Describes(
    'changeWebhook',
    'Change a webhook, disable it, enable it again',
    { 200: jsonAnswer('As it is now.', WebhookView, EXAMPLES.webhook), ...INVALID, ...UNKNOWN },
    'Another URL is sent a challenge of its own.',
  )
  async change(
    @Param('id') id: string,
    @Body() change: WebhookChangeDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<WebhookView> {
    const audience = audienceOf(request, response);
    const { url, payees, events, enabled } = change;
    if (url !== undefined) this.#checkUrl(url);
    if (payees !== undefined) checkPayees(payees, audience);
    if (events !== undefined) checkEvents(events, audience);
    const webhook = await this.#own(request, id);
    if (payees === undefined && events?.some(isOfSettlement) === true) {
      if (webhook.payees.length === 0) {
        throw new BadRequestException('payees: required for events of settlements.');
      }
    }
    const isMoved = url !== undefined && url !== webhook.url;
    if (isMoved || (enabled === true && webhook.confirmedAt === undefined)) {
      await this.#count('send', response, webhook.owner, id);
    }
    return viewOf(known(await this.store.change(ownerOf(request), id, change)));
  }

  @Delete(':id')
  @HttpCode(204)
  @Describes('deleteWebhook', 'Delete a webhook', { ...DONE, ...UNKNOWN })
  async remove(@Param('id') id: string, @Req() request: Request): Promise<void> {
    if (!(await this.store.remove(ownerOf(request), id))) {
      throw new NotFoundException(NO_SUCH_WEBHOOK);
    }
  }

  @Post(':id/secrets')
  @Describes(
    'addWebhookSecret',
    'Add a secret',
    { 201: jsonAnswer('Made.', WebhookSecret, EXAMPLES.secret), ...UNKNOWN, ...CONFLICT },
    `At most ${SECRETS_MAX} at once: each event is signed by all of them.`,
  )
  async addSecret(@Param('id') id: string, @Req() request: Request): Promise<WebhookSecret> {
    const added = known(await this.store.addSecret(ownerOf(request), id));
    if (added === 'too_many') {
      throw new ConflictException(`A webhook may have ${SECRETS_MAX} secrets.`);
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
    @Param('id') id: string,
    @Param('secretId') name: string,
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
      202: jsonAnswer('It is sent.', WebhookTest, { eventId: EXAMPLES.eventId }),
      ...UNKNOWN,
      ...CONFLICT,
    },
    'Where the URL has not answered its challenge yet, another challenge.',
  )
  async test(
    @Param('id') id: string,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<WebhookTest> {
    const webhook = await this.#own(request, id);
    if (webhook.disabled !== undefined) throw new ConflictException('The webhook is disabled.');
    await this.#count('send', response, webhook.owner, id);
    return { eventId: await this.store.test(webhook) };
  }

  @Post(':id/replay')
  @HttpCode(202)
  @Describes(
    'replayWebhook',
    'Replay events',
    { 202: jsonAnswer('They are sent.', WebhookReplayed, { events: 12 }), ...INVALID, ...UNKNOWN },
    `At most ${REPLAY_MAX} events; \`next\` is the one to go on after. They keep their ids. ` +
      'Events are kept for 30 days.',
  )
  async replay(
    @Param('id') id: string,
    @Body() { after, since }: WebhookReplayDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<WebhookReplayed> {
    const { payees, isOperator } = audienceOf(request, response);
    if (after === undefined && since === undefined) {
      throw new BadRequestException('after or since is expected.');
    }
    const webhook = await this.#own(request, id);
    await this.#count('replay', response, webhook.owner, id);
    const replayed = await this.store.replay(webhook, {
      ...(after !== undefined && { after }),
      ...(since !== undefined && { since: new Date(since) }),
      payees,
      isOperator,
    });
    if (replayed === undefined)
      throw new BadRequestException('after: the webhook has no event with this id.');
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
    @Param('id') id: string,
    @Query() { limit, before }: DeliveriesQueryDto,
    @Req() request: Request,
  ): Promise<WebhookDeliveries> {
    const webhook = await this.#own(request, id);
    const found = await this.store.deliveries(webhook, limit, before);
    if (found === undefined)
      throw new BadRequestException('before: the webhook has no event with this id.');
    const next = found.length === limit ? found.at(-1)?.eventId : undefined;
    const deliveries = found.map(deliveryViewOf);
    return { deliveries, ...(next !== undefined && { next }) };
  }

  async #own(request: Request, id: string): Promise<Webhook> {
    return known(await this.store.find(ownerOf(request), id));
  }

  /** Counted also where no other limit is set: it makes this service ask others. */
  async #count(
    asked: CountedRequest,
    response: Response,
    owner: string,
    id?: string,
  ): Promise<void> {
    const refusal = await this.limits.refusalOf(asked, owner, id);
    if (refusal === undefined) return;
    for (const [name, value] of Object.entries(limitHeaders(refusal))) {
      response.setHeader(name, value);
    }
    response.setHeader('Retry-After', refusal.retryAfterSeconds);
    throw new HttpException('Too many requests.', HttpStatus.TOO_MANY_REQUESTS);
  }

  #checkUrl(url: string): void {
    const problem = problemOfUrl(url, this.config.webhooks?.allow ?? new Set());
    if (problem !== undefined) throw new BadRequestException(problem);
  }
}

/** @throws ForbiddenException for a payee that the key may not list. */
function checkPayees(payees: readonly Address[], { payees: allowed }: Audience): void {
  if (payees.every((payee) => allowed.has(payee))) return;
  throw new ForbiddenException('This API key does not list one of these payees.');
}

/** @throws ForbiddenException for events that the key may not read. */
function checkEvents(events: readonly EventType[], { payees, isOperator }: Audience): void {
  const isOfLane = events.some((type) => LANE_EVENTS.some((name) => name === type));
  if (isOfLane && !isOperator) {
    throw new ForbiddenException('Events of lanes need an API key with the scope `admin`.');
  }
  if (events.some(isOfSettlement) && payees.size === 0) {
    throw new ForbiddenException('Events of settlements need an API key with payees.');
  }
}

function isOfSettlement(type: EventType): boolean {
  return SETTLEMENT_EVENTS.some((name) => name === type);
}

const NO_SUCH_WEBHOOK = 'This API key has no webhook or delivery with that id.';

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
