import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../platform/chain/chain-registry.js';
import { AppConfig } from '../platform/config/app-config.js';
import { StatedProblem } from '../platform/http/stated-problem.js';
import { addressGroup } from '../platform/rate-limit/address-group.js';
import {
  explain,
  explainPaidElsewhere,
  explainUnknownUse,
} from '../protocol/diagnosis/diagnosis.js';
import { identityOf } from '../protocol/payment/identity.js';
import { chainIdOf, chainIdOfV1Name } from '../protocol/payment/network.js';
import {
  type ParsedPayment,
  parsePayment,
  type PaymentEnvelope,
  readEnvelope,
  type ResponseEcho,
} from '../protocol/payment/parse-payment.js';
import type { Payment, Purpose } from '../protocol/payment/payment.js';
import { type JsonObject, readAddress } from '../protocol/payment/wire-values.js';
import { type Reason, REASONS } from '../protocol/reasons.js';
import type { ReasonFacts } from '../protocol/reasons/reason-facts.js';
import { channelActionOf, isSchemeName, rulesOf } from '../protocol/schemes/registry.js';
import { credentialsOf } from '../settlement/ledger/requester.js';
import type { Finality } from '../settlement/model/settlement.js';
import {
  type CarriedExtension,
  SETTLE_EXTENSION,
  type SettleExtension,
} from '../settlement/settle-extension.js';
import { envelopeFinding } from './dto/malformed.js';
import type { VerifyBody } from './dto/verify.response.js';
import { PaymentObserver, type RequestSubject, type SettleResult } from './payment-observer.js';
import { type ReadRequest, refusalOf, type Refused } from './refusal.js';
import type { Connection } from './settle/requester-wait.js';
import { SettleService } from './settle/settle.service.js';
import { type SettleAnswer, SettleAnswers } from './settle/settle-answer.js';
import { keyScope, keyTagOf, labelTagOf } from './settle/settle-context.js';
import { SimulatedSettles } from './simulation/simulated-settles.js';
import type { AskedSimulation } from './simulation/simulation-request.js';
import type { PaidBy } from './status/used-authorization-finder.js';
import { VerifyService } from './verify/verify.service.js';

export type Versions = readonly (1 | 2)[];

/** An `Idempotency-Key` and its sender. */
export interface ScopedKey {
  readonly value: string | undefined;
  /** Id of the API key, where there is one. */
  readonly caller: string | undefined;
}

/** The terms of a settle request from its headers. */
export interface SettleTerms {
  readonly idempotencyKey: ScopedKey;
  /** The client's address, as far as `TRUST_PROXY` trusts the proxies. */
  readonly address: string | undefined;
  readonly isAsync: boolean;
  readonly finality: Finality;
  readonly arrivedAt: number;
  readonly connection: Connection;
}

/** Facts about a refusal beyond its reason. */
interface Found {
  /** See {@link PaidBy}. */
  readonly paidBy?: PaidBy;
  /** One sentence for people. */
  readonly cause?: string;
}

/** Turns request bodies into answers, for all versions. */
@Injectable()
export class FacilitatorService {
  constructor(
    private readonly config: AppConfig,
    private readonly chains: ChainRegistry,
    private readonly verifier: VerifyService,
    private readonly settler: SettleService,
    private readonly logger: PinoLogger,
    @Inject(PaymentObserver) private readonly observer: PaymentObserver,
    @Inject(SETTLE_EXTENSION) private readonly extension: SettleExtension,
    private readonly simulated: SimulatedSettles,
  ) {}

  /** @throws StatedProblem when the body is not an envelope. */
  async verify(body: unknown, versions: Versions, idempotencyKey: ScopedKey): Promise<VerifyBody> {
    const begun = performance.now();
    const { request, subject } = this.#read(body, versions, 'verify');
    const { parsed } = request;
    const found = await this.#reasonAgainst(parsed, idempotencyKey);
    const { reason, extra } = found;
    this.observer.verified(subject, reason, performance.now() - begun);
    const named = payerOf(parsed.ok ? parsed.payment : parsed.correspondent, request);
    const facts: ReasonFacts | undefined = reason && REASONS[reason];
    const payer = facts?.isWithoutPayer === 'always' ? {} : named;
    if (reason === undefined) {
      return { isValid: true, ...payer, ...(extra !== undefined && { extra }) };
    }
    const { message, extensions } = this.#refusal(reason, request, found);
    return { isValid: false, invalidReason: reason, invalidMessage: message, ...payer, extensions };
  }

  /** Why a payment would not be settled; without a reason if it would be settled. */
  async #reasonAgainst(
    parsed: ParsedPayment,
    idempotencyKey: ScopedKey,
  ): Promise<{ readonly reason?: Reason; readonly extra?: JsonObject } & Found> {
    if (!parsed.ok) return { reason: parsed.reason };
    const { payment } = parsed;
    try {
      const keyTag = tagOfKey(idempotencyKey, payment);
      const outcome = await this.verifier.verify(payment, keyTag);
      if (!outcome.isValid) return outcome;
      return outcome.extra === undefined ? {} : { extra: outcome.extra };
    } catch (error) {
      this.logger.error({ err: error }, 'verify failed');
      return { reason: 'unexpected_verify_error' };
    }
  }

  /**
   * @returns `undefined` when the client closed the connection.
   * @throws StatedProblem when the body is not an envelope.
   */
  async settle(
    body: unknown,
    versions: Versions,
    terms: SettleTerms,
  ): Promise<SettleAnswer | undefined> {
    const { request, subject } = this.#read(body, versions, 'settle');
    const carried = this.#carriedBy(request);
    const answer = await this.#settle(request.parsed, terms, carried);
    this.observer.settled(
      subject,
      resultOf(answer),
      answer?.body.errorReason,
      Date.now() - terms.arrivedAt,
      terms.idempotencyKey.caller,
    );
    return answer && withExtension(this.#explained(answer, request), carried);
  }

  /**
   * The same as a simulation, without ledger, lane or archive.
   *
   * @returns `undefined` where the connection is to be closed without an answer.
   * @throws StatedProblem, SimulationRefused, RedisUnavailableError
   */
  async simulate(
    body: unknown,
    versions: Versions,
    { idempotencyKey, isAsync, finality, connection }: SettleTerms,
    asked: AskedSimulation,
  ): Promise<SettleAnswer | undefined> {
    const { request } = this.#read(body, versions, 'settle');
    const { parsed } = request;
    const keyTag = parsed.ok ? tagOfKey(idempotencyKey, parsed.payment) : '';
    const terms = { ...asked, keyTag, isAsync, finality, connection };
    return this.simulated.settle(request, terms);
  }

  #carriedBy({ envelope, parsed }: ReadRequest): CarriedExtension | undefined {
    if (!parsed.ok) return undefined;
    return this.extension.carriedBy({ ...envelope, payment: parsed.payment });
  }

  #explained(answer: SettleAnswer, request: ReadRequest): SettleAnswer {
    const { errorReason } = answer.body;
    if (errorReason === undefined) return answer;
    const { message, extensions } = this.#refusal(errorReason, request, answer);
    return { ...answer, body: { ...answer.body, errorMessage: message, extensions } };
  }

  async #settle(
    parsed: ParsedPayment,
    terms: SettleTerms,
    carried: CarriedExtension | undefined,
  ): Promise<SettleAnswer | undefined> {
    if (!parsed.ok) {
      const answers = new SettleAnswers(parsed.correspondent, terms.finality, undefined);
      return answers.failure(parsed.reason);
    }
    const { payment } = parsed;
    try {
      const { idempotencyKey, address, ...rest } = terms;
      const keyTag = tagOfKey(idempotencyKey, payment);
      const credentials = credentialsOf({
        keyTag,
        apiKeyId: idempotencyKey.caller,
        address: address === undefined ? undefined : addressGroup(address),
      });
      const labelTag = labelTagOf(payment.label, scopeOf(idempotencyKey.caller, payment));
      return await this.settler.settle({
        ...rest,
        payment,
        keyTag,
        labelTag,
        credentials,
        ...(carried && {
          beforeClaim: (ref) => {
            carried.beforeClaim(ref);
          },
        }),
      });
    } catch (error) {
      this.logger.error({ err: error, authorizationId: idOf(payment) }, 'settle failed');
      const answers = new SettleAnswers(payment, terms.finality, undefined);
      return answers.failure('unexpected_settle_error');
    }
  }

  get defaultFinality(): Finality {
    return this.config.settleFinality;
  }

  /** The reason is the answer, so an error in the diagnosis must not remove it. */
  #refusal(reason: Reason, request: ReadRequest, { paidBy, cause }: Found): Refused {
    try {
      if (paidBy !== undefined) {
        const { message, diagnosis } =
          paidBy === 'unknown' ? explainUnknownUse(reason) : explainPaidElsewhere(reason, paidBy);
        return { message, extensions: { diagnosis } };
      }
      const chainIds = this.chains.all.map(({ chainId }) => chainId);
      return refusalOf(reason, request, chainIds, undefined, cause);
    } catch (error) {
      this.logger.error(
        { err: error, reason },
        'could not build the diagnosis of a refusal; the answer leaves it out',
      );
      const { message, diagnosis } = explain(reason);
      return { message, extensions: { diagnosis } };
    }
  }

  #read(
    body: unknown,
    versions: Versions,
    purpose: Purpose,
  ): { readonly request: ReadRequest; readonly subject: RequestSubject } {
    const envelope = readEnvelope(body);
    if (envelope === undefined) {
      const { message, diagnosis } = explain('invalid_payload', envelopeFinding(body));
      throw new StatedProblem(400, 'invalid_payload', message, diagnosis);
    }
    // A chain with failing endpoints is still served: the payment is not at fault.
    const isServed = (chainId: number): boolean => this.chains.get(chainId) !== undefined;
    const parsed = parsePayment(envelope, versions, isServed, purpose);
    const subject = subjectOf(envelope, parsed, isServed);
    return { request: { envelope, versions, parsed }, subject };
  }
}

function resultOf(answer: SettleAnswer | undefined): SettleResult {
  if (answer === undefined) return 'hung_up';
  const { status, body } = answer;
  if (body.success) return 'success';
  if (body.errorReason === 'settlement_pending') return 'pending';
  return status === 202 ? 'accepted' : 'failure';
}

/** A failing extension must not change the answer about the payment. */
function withExtension(answer: SettleAnswer, carried: CarriedExtension | undefined): SettleAnswer {
  const result = resultOf(answer);
  if (carried === undefined || result === 'hung_up') return answer;
  const { settlementId } = answer;
  return { ...answer, extensionResponses: carried.responseTo({ result, settlementId }) };
}

/** For a log line about a failure, where the payment may have no id. */
function idOf(payment: Payment): string | undefined {
  try {
    return identityOf(payment)?.authorizationId;
  } catch {
    return undefined;
  }
}

/**
 * A seller with an API key may have many payees, and its order numbers are unique across them. Without a key, only the
 * holder of the payer's key can present its payments, so a stranger cannot occupy a seller's order numbers. An action that
 * succeeds for each request has no such holder: anybody can ask for it, with any number of keys.
 */
function tagOfKey({ value, caller }: ScopedKey, payment: Payment): string {
  const isOfAnybody = caller === undefined && rulesOf(payment.claim).isRepeatable === true;
  return isOfAnybody ? '' : keyTagOf(value, scopeOf(caller, payment));
}

function scopeOf(caller: string | undefined, { requirements, claim }: Payment): readonly string[] {
  return keyScope(caller, { payTo: requirements.payTo, payer: claim.from ?? '' });
}

/** Python clients of V1 fail on an answer without a payer, but accept an empty one. */
function payerOf(
  { payerAsSent }: ResponseEcho,
  { envelope, versions }: ReadRequest,
): { readonly payer?: string } {
  const isV1 = envelope.paymentPayload['x402Version'] === 1 || !versions.includes(2);
  const payer = payerAsSent ?? (isV1 ? '' : undefined);
  return payer === undefined ? {} : { payer };
}

/**
 * The metric labels of a request, also of one that could not be parsed.
 *
 * @param isServed - whether this deployment serves a chain.
 */
export function subjectOf(
  { paymentPayload, paymentRequirements }: PaymentEnvelope,
  parsed: ParsedPayment,
  isServed: (chainId: number) => boolean,
): RequestSubject {
  const named = paymentRequirements['scheme'];
  const scheme = isSchemeName(named) ? named : undefined;
  if (parsed.ok) {
    const { dialect, requirements, claim } = parsed.payment;
    const { chainId, asset } = requirements;
    const action = channelActionOf(claim);
    return { x402Version: dialect.x402Version, scheme, chainId, asset, action };
  }
  const version = paymentPayload['x402Version'];
  const { networkAsSent } = parsed.correspondent;
  const chainId = chainIdOf(networkAsSent) ?? chainIdOfV1Name(networkAsSent);
  return {
    x402Version: version === 1 || version === 2 ? version : undefined,
    scheme,
    chainId: chainId !== undefined && isServed(chainId) ? chainId : undefined,
    asset: readAddress(paymentRequirements['asset']),
    action: undefined,
  };
}
