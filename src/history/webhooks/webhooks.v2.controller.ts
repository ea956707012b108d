import {
  BadRequestException,
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
import { sendJson } from '../../platform/http/json.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { limitHeaders } from '../../platform/rate-limit/rate-limiter.js';
import { LANE_EVENTS } from './lane-levels.js';
import { PostgresWebhooks } from './postgres-webhooks.js';
import { SETTLEMENT_EVENTS } from './settlement-events.js';
import { WebhookSecrets } from './signature.js';
import type { EventType, Webhook } from './webhook.js';
import { WebhookErrorFilter } from './webhook-error.filter.js';
import { type CountedRequest, WebhookLimits } from './webhook-limits.js';
import {
  EVENT_ID,
  problemOfUrl,
  type Read,
  readChange,
  readCreation,
  readReplay,
} from './webhook-request.js';
import { SECRETS_MAX, WEBHOOKS_MAX } from './webhook-store.js';
import { deliveryViewOf, viewOf } from './webhook-view.js';

const PAGE = 50;
const PAGE_MAX = 200;

/** Where the owner of an API key wants to be told of its settlements. */
@Controller('v2/webhooks')
@RequireScope('history')
@RateLimited('lookup')
@UseFilters(WebhookErrorFilter)
export class WebhooksV2Controller {
  constructor(
    private readonly store: PostgresWebhooks,
    private readonly secrets: WebhookSecrets,
    private readonly bodies: JsonBodyReader,
    private readonly config: AppConfig,
    private readonly limits: WebhookLimits,
  ) {}

  @Post()
  async create(@Req() request: Request, @Res() response: Response): Promise<void> {
    const audience = audienceOf(request, response);
    const { url, description, events, payees } = accepted(
      readCreation(await this.bodies.json(request, response)),
    );
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
    sendJson(response, 201, { ...viewOf(webhook), secret: this.secrets.textOf(webhook.id, name) });
  }

  @Get()
  async list(@Req() request: Request, @Res() response: Response): Promise<void> {
    const webhooks = await this.store.list(ownerOf(request));
    sendJson(response, 200, { webhooks: webhooks.map(viewOf) });
  }

  @Get(':id')
  async find(
    @Param('id') id: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    sendJson(response, 200, viewOf(await this.#own(request, id)));
  }

  @Patch(':id')
  async change(
    @Param('id') id: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const audience = audienceOf(request, response);
    const change = accepted(readChange(await this.bodies.json(request, response)));
    const { url, payees, events, enabled } = change;
    if (url !== undefined) this.#checkUrl(url);
    if (payees !== undefined) checkPayees(payees, audience);
    if (events !== undefined) checkEvents(events, audience);
    const webhook = await this.#own(request, id);
    if (payees === undefined && events?.some(isOfSettlement) === true) {
      if (webhook.payees.length === 0) {
        throw new BadRequestException('payees: it has none to be told of.');
      }
    }
    const isMoved = url !== undefined && url !== webhook.url;
    if (isMoved || (enabled === true && webhook.confirmedAt === undefined)) {
      await this.#count('send', response, webhook.owner, id);
    }
    sendJson(response, 200, viewOf(known(await this.store.change(ownerOf(request), id, change))));
  }

  @Delete(':id')
  @HttpCode(204)
  async remove(@Param('id') id: string, @Req() request: Request): Promise<void> {
    if (!(await this.store.remove(ownerOf(request), id))) throw new NotFoundException();
  }

  @Post(':id/secrets')
  async addSecret(
    @Param('id') id: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const added = known(await this.store.addSecret(ownerOf(request), id));
    if (added === 'too_many') {
      throw new ConflictException(`A webhook may have ${SECRETS_MAX} secrets.`);
    }
    sendJson(response, 201, { id: added.name, secret: this.secrets.textOf(id, added.name) });
  }

  @Delete(':id/secrets/:name')
  @HttpCode(204)
  async removeSecret(
    @Param('id') id: string,
    @Param('name') name: string,
    @Req() request: Request,
  ): Promise<void> {
    const removed = known(await this.store.removeSecret(ownerOf(request), id, name));
    if (removed === 'last') throw new ConflictException('A webhook keeps its last secret.');
  }

  @Post(':id/test')
  async test(
    @Param('id') id: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const webhook = await this.#own(request, id);
    if (webhook.disabled !== undefined) throw new ConflictException('The webhook is disabled.');
    await this.#count('send', response, webhook.owner, id);
    sendJson(response, 202, { eventId: await this.store.test(webhook) });
  }

  @Post(':id/replay')
  async replay(
    @Param('id') id: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { payees, isOperator } = audienceOf(request, response);
    const { after, since } = accepted(readReplay(await this.bodies.json(request, response)));
    const webhook = await this.#own(request, id);
    await this.#count('replay', response, webhook.owner, id);
    const replayed = await this.store.replay(webhook, {
      ...(after !== undefined && { after }),
      ...(since !== undefined && { since }),
      payees,
      isOperator,
    });
    if (replayed === undefined) throw new BadRequestException('after: this event is not known.');
    const { events, next } = replayed;
    sendJson(response, 202, { events, ...(next !== undefined && { next }) });
  }

  @Get(':id/deliveries')
  async deliveries(
    @Param('id') id: string,
    @Query() { limit, before }: Readonly<Record<string, unknown>>,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const isNumber = typeof limit === 'string' && /^[1-9]\d{0,2}$/.test(limit);
    const most = limit === undefined ? PAGE : Number(limit);
    if ((limit !== undefined && !isNumber) || most > PAGE_MAX) {
      throw new BadRequestException(`limit must be a number, 1 to ${PAGE_MAX}.`);
    }
    if (before !== undefined && !(typeof before === 'string' && EVENT_ID.test(before))) {
      throw new BadRequestException('before must be the id of an event.');
    }
    const webhook = await this.#own(request, id);
    const found = await this.store.deliveries(webhook, most, before);
    if (found === undefined) throw new BadRequestException('before: this event is not known.');
    const next = found.length === most ? found.at(-1)?.eventId : undefined;
    const deliveries = found.map(deliveryViewOf);
    sendJson(response, 200, { deliveries, ...(next !== undefined && { next }) });
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
  if (!payees.every((payee) => allowed.has(payee))) throw new ForbiddenException();
}

/** @throws ForbiddenException for what the key may not hear of. */
function checkEvents(events: readonly EventType[], { payees, isOperator }: Audience): void {
  const isOfLane = events.some((type) => LANE_EVENTS.some((name) => name === type));
  if (isOfLane && !isOperator) throw new ForbiddenException();
  if (events.some(isOfSettlement) && payees.size === 0) throw new ForbiddenException();
}

function isOfSettlement(type: EventType): boolean {
  return SETTLEMENT_EVENTS.some((name) => name === type);
}

/** Where there are webhooks there are API keys, and a scope lets nobody in without one. */
function ownerOf(request: Request): string {
  const owner = callerOf(request);
  if (owner === undefined) throw new ForbiddenException();
  return owner;
}

function accepted<T>(read: Read<T>): T {
  if ('problem' in read) throw new BadRequestException(read.problem);
  return read.value;
}

function known<T>(found: T | undefined): T {
  if (found === undefined) throw new NotFoundException();
  return found;
}
