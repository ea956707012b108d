import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  All,
  BadRequestException,
  Body,
  Get,
  HttpCode,
  Injectable,
  MethodNotAllowedException,
  NotFoundException,
  Post,
  Req,
  Res,
  UseFilters,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { callerOf, RateLimited, RequireScope } from '../platform/http/access.js';
import { arrivalOf } from '../platform/http/arrival.js';
import { ClientAddresses } from '../platform/http/client-address.js';
import { sendJson } from '../platform/http/json.js';
import { JsonBodyReader } from '../platform/http/request-body.js';
import { NO_SUCH_SETTLEMENT } from '../platform/http/settlement-id.pipe.js';
import { FacilitatorService, type SettleTerms, type Versions } from './facilitator.service.js';
import { finalityOf, idempotencyKeyOf, wantsAsync } from './settle-request.js';
import { connectionOf, sendSettleAnswer } from './settle-response.js';
import { markSimulated, simulationAsked } from './simulation/simulation-request.js';
import { PAYMENT_QUERY_USAGE, readPaymentQuery } from './status/payment-query.js';
import { SettlementLookUp } from './status/settlement-look-up.js';
import { SupportedService } from './supported.service.js';
import { SettleErrorFilter, VerifyErrorFilter } from './x402-error.filter.js';

/**
 * The facilitator's interface, the same at every path it is served at. Subclasses name the path and
 * the protocol versions it answers.
 */
@Injectable()
export abstract class FacilitatorController {
  protected abstract readonly versions: Versions;

  constructor(
    protected readonly facilitator: FacilitatorService,
    protected readonly supportedKinds: SupportedService,
    protected readonly settlements: SettlementLookUp,
    protected readonly bodies: JsonBodyReader,
    protected readonly addresses: ClientAddresses,
  ) {}

  @Post('verify')
  @HttpCode(200)
  @UseFilters(VerifyErrorFilter)
  @RequireScope('verify')
  @RateLimited('verify')
  async verify(@Req() request: IncomingMessage, @Res() response: ServerResponse): Promise<void> {
    const body = await this.bodies.json(request, response);
    const key = { value: idempotencyKeyOf(request), caller: callerOf(request) };
    sendJson(response, 200, await this.facilitator.verify(body, this.versions, key));
  }

  @Post('settle')
  @UseFilters(SettleErrorFilter)
  @RequireScope('settle')
  @RateLimited('settle')
  async settle(@Req() request: IncomingMessage, @Res() response: ServerResponse): Promise<void> {
    const asked = simulationAsked(request);
    const body = await this.bodies.json(request, response);
    const terms: SettleTerms = {
      idempotencyKey: { value: idempotencyKeyOf(request), caller: callerOf(request) },
      address: this.addresses.of(request),
      isAsync: wantsAsync(request),
      finality: finalityOf(request, this.facilitator.defaultFinality),
      arrivedAt: arrivalOf(request),
      connection: connectionOf(response),
    };
    if (asked !== undefined) markSimulated(response);
    const answer = await (asked === undefined
      ? this.facilitator.settle(body, this.versions, terms)
      : this.facilitator.simulate(body, this.versions, terms, asked));
    if (answer === undefined) response.destroy();
    else sendSettleAnswer(response, answer);
  }

  @Get('verify')
  @UseFilters(VerifyErrorFilter)
  @RequireScope('verify')
  @RateLimited('verify')
  async verifyQuery(@Req() request: Request, @Res() response: Response): Promise<void> {
    const query = readPaymentQuery(request.query);
    if (query === 'none') {
      sendJson(response, 200, describeEndpoint(request.path, 'verify'));
      return;
    }
    if (query === 'malformed') throw new BadRequestException(PAYMENT_QUERY_USAGE);
    const key = { value: undefined, caller: callerOf(request) };
    sendJson(response, 200, await this.facilitator.verify(query, this.versions, key));
  }

  /** Looks up; a GET never moves money. */
  @Get('settle')
  @UseFilters(SettleErrorFilter)
  @RateLimited('lookup')
  async settleQuery(@Req() request: Request, @Res() response: Response): Promise<void> {
    const query = readPaymentQuery(request.query);
    if (query === 'none') {
      sendJson(response, 200, describeEndpoint(request.path, 'settle'));
      return;
    }
    if (query === 'malformed') throw new BadRequestException(PAYMENT_QUERY_USAGE);
    const asked = simulationAsked(request);
    const status = await this.settlements.byPayment(query, this.versions, asked);
    if (asked !== undefined) markSimulated(response);
    if (status === undefined) throw new NotFoundException(NO_SUCH_SETTLEMENT);
    sendJson(response, 200, status);
  }

  @Get('supported')
  supported(): ReturnType<SupportedService['supported']> {
    return this.supportedKinds.supported(this.versions);
  }

  /** What sellers of some middlewares ask for each 402; it moves nothing. */
  @Post('accepts')
  @HttpCode(200)
  @RateLimited('lookup')
  async accepts(@Body() body: unknown): Promise<object> {
    const read = await this.supportedKinds.accepts(body, this.versions);
    if (!read.ok) throw new BadRequestException(read.problem);
    return read.accepts;
  }

  @All('verify')
  @UseFilters(VerifyErrorFilter)
  wrongVerifyMethod(@Res() response: Response): never {
    return refuseMethod(response);
  }

  @All('settle')
  @UseFilters(SettleErrorFilter)
  wrongSettleMethod(@Res() response: Response): never {
    return refuseMethod(response);
  }
}

function refuseMethod(response: Response): never {
  response.setHeader('Allow', 'GET, POST, OPTIONS');
  throw new MethodNotAllowedException('GET or POST is expected here.');
}

/** What a GET without a query says of an endpoint that takes POST; the fields are those of x402-rs. */
function describeEndpoint(
  path: string,
  what: 'verify' | 'settle',
): Readonly<Record<string, unknown>> {
  return {
    endpoint: path,
    description: `POST to ${what} x402 payments`,
    body: {
      paymentPayload: 'PaymentPayload',
      paymentRequirements: 'PaymentRequirements',
    },
  };
}
