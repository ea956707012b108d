import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  All,
  BadRequestException,
  Body,
  Get,
  HttpCode,
  HttpStatus,
  Injectable,
  Post,
  Req,
  Res,
  UseFilters,
} from '@nestjs/common';
import type { Request } from 'express';
import { callerOf, RateLimited, RequireScope } from '../platform/http/access.js';
import { Answer, HttpRefusal, setHeaders } from '../platform/http/answer.js';
import { arrivalOf } from '../platform/http/arrival.js';
import { ClientAddresses } from '../platform/http/client-address.js';
import { invalidRequest } from '../platform/http/coded-error.js';
import { sendJson } from '../platform/http/json.js';
import { JsonBodyReader } from '../platform/http/request-body.js';
import { NO_SUCH_SETTLEMENT } from '../platform/http/settlement-id.pipe.js';
import { FacilitatorService, type SettleTerms, type Versions } from './facilitator.service.js';
import {
  DescribesAccepts,
  DescribesSettle,
  DescribesSettleQuery,
  DescribesSupported,
  DescribesVerify,
  DescribesVerifyQuery,
} from './openapi/facilitator.openapi.js';
import { finalityOf, idempotencyKeyOf, wantsAsync } from './settle-request.js';
import { connectionOf, sendSettleAnswer } from './settle-response.js';
import { SIMULATED, simulationAsked } from './simulation/simulation-request.js';
import { PAYMENT_QUERY_USAGE, readPaymentQuery } from './status/payment-query.js';
import { SettlementLookUp } from './status/settlement-look-up.js';
import { SupportedService } from './supported.service.js';
import { SettleErrorFilter, VerifyErrorFilter } from './x402-error.filter.js';

/**
 * The interface of the facilitator, the same at every path it is served at. Subclasses name the path and the protocol
 * versions.
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
  @DescribesVerify()
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
  @DescribesSettle()
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
    if (asked !== undefined) setHeaders(response, SIMULATED);
    const answer = await (asked === undefined
      ? this.facilitator.settle(body, this.versions, terms)
      : this.facilitator.simulate(body, this.versions, terms, asked));
    if (answer === undefined) response.destroy();
    else sendSettleAnswer(response, answer);
  }

  @Get('verify')
  @DescribesVerifyQuery()
  @UseFilters(VerifyErrorFilter)
  @RequireScope('verify')
  @RateLimited('verify')
  async verifyQuery(@Req() request: Request): Promise<object> {
    const query = readPaymentQuery(request.query);
    if (query === 'none') return describeEndpoint(request.path, 'verify');
    if (query === 'malformed') throw new BadRequestException(PAYMENT_QUERY_USAGE);
    const key = { value: undefined, caller: callerOf(request) };
    return this.facilitator.verify(query, this.versions, key);
  }

  /** Looks up; a GET never moves money. */
  @Get('settle')
  @DescribesSettleQuery()
  @UseFilters(SettleErrorFilter)
  @RateLimited('lookup')
  async settleQuery(@Req() request: Request): Promise<object> {
    const query = readPaymentQuery(request.query);
    if (query === 'none') return describeEndpoint(request.path, 'settle');
    if (query === 'malformed') throw new BadRequestException(PAYMENT_QUERY_USAGE);
    const asked = simulationAsked(request);
    const status = await this.settlements.byPayment(query, this.versions, asked);
    const headers = asked === undefined ? {} : SIMULATED;
    if (status === undefined) throw new HttpRefusal(NO_SUCH_SETTLEMENT, 404, headers);
    return new Answer(status, headers);
  }

  @Get('supported')
  @DescribesSupported()
  supported(): ReturnType<SupportedService['supported']> {
    return this.supportedKinds.supported(this.versions);
  }

  /** Some seller middlewares post here before each 402. The call moves no money. */
  @Post('accepts')
  @DescribesAccepts()
  @HttpCode(200)
  @RateLimited('lookup')
  async accepts(@Body() body: unknown): Promise<object> {
    const read = await this.supportedKinds.accepts(body, this.versions);
    if (read.ok) return read.accepts;
    const { path, expected } = read.place;
    throw invalidRequest(`${path}: expected ${expected}.`, read.place);
  }

  @All('verify')
  @UseFilters(VerifyErrorFilter)
  wrongVerifyMethod(): never {
    return refuseMethod();
  }

  @All('settle')
  @UseFilters(SettleErrorFilter)
  wrongSettleMethod(): never {
    return refuseMethod();
  }
}

function refuseMethod(): never {
  const message = 'This path accepts only GET and POST.';
  throw new HttpRefusal(message, HttpStatus.METHOD_NOT_ALLOWED, { Allow: 'GET, POST, OPTIONS' });
}

/**
 * The answer to a GET without a query, of an endpoint that takes POST; the fields are those of
 * x402-rs.
 */
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
