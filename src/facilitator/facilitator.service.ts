import { BadRequestException } from '@nestjs/common';
import { type PinoLogger } from 'nestjs-pino';
import { type ChainRegistry } from '../platform/chain/chain-registry.js';
import { type AppConfig } from '../platform/config/app-config.js';
import { addressGroup } from '../platform/rate-limit/address-group.js';
import { identityOf } from '../protocol/payment/identity.js';
import {
  type ParsedPayment,
  parsePayment,
  readEnvelope,
  type ResponseEcho,
} from '../protocol/payment/parse-payment.js';
import type { Payment, Purpose } from '../protocol/payment/payment.js';
import { type Reason, REASONS } from '../protocol/reasons.js';
import { credentialsOf } from '../settlement/ledger/requester.js';
import type { Finality } from '../settlement/model/settlement.js';
import {
  type PaymentObserver,
  type RequestSubject,
  type SettleResult,
} from './payment-observer.js';
import { subjectOf } from './request-subject.js';
import type { Connection } from './settle/requester-wait.js';
import { type SettleService } from './settle/settle.service.js';
import { type SettleAnswer, SettleAnswers } from './settle/settle-answer.js';
import { keyTagOf } from './settle/settle-context.js';
import { type VerifyService } from './verify/verify.service.js';

export type Versions = readonly (1 | 2)[];

/** The body of a verify answer (x402 V2 specification §5.4.2). */
export interface VerifyBody {
  readonly isValid: boolean;
  readonly invalidReason?: Reason;
  readonly invalidMessage?: string;
  readonly payer?: string;
}

/** An `Idempotency-Key` and who sent it. */
export interface ScopedKey {
  readonly value: string | undefined;
  /** Id of the API key, where there is one. */
  readonly caller: string | undefined;
}

/** What a settle request says beside its body. */
export interface SettleTerms {
  readonly idempotencyKey: ScopedKey;
  /** The client's address, as `TRUST_PROXY` lets it be known. */
  readonly address: string | undefined;
  readonly isAsync: boolean;
  readonly finality: Finality;
  readonly arrivedAt: number;
  readonly connection: Connection;
}

interface ReadRequest {
  readonly parsed: ParsedPayment;
  readonly subject: RequestSubject;
}

/** What requests go through. */
export interface FacilitatorParts {
  readonly config: AppConfig;
  readonly chains: ChainRegistry;
  readonly verifier: VerifyService;
  readonly settler: SettleService;
  readonly logger: PinoLogger;
  readonly observer: PaymentObserver;
}

/** From request bodies to answers, for every version alike. */
export class FacilitatorService {
  constructor(private readonly parts: FacilitatorParts) {}

  /** @throws BadRequestException when the body is not an envelope. */
  async verify(body: unknown, versions: Versions, idempotencyKey: ScopedKey): Promise<VerifyBody> {
    const begun = performance.now();
    const { parsed, subject } = this.#read(body, versions, 'verify');
    const answer = await this.#verify(parsed, idempotencyKey);
    this.parts.observer.verified(subject, answer.invalidReason, performance.now() - begun);
    return answer;
  }

  async #verify(parsed: ParsedPayment, idempotencyKey: ScopedKey): Promise<VerifyBody> {
    if (!parsed.ok) return invalid(parsed.reason, parsed.correspondent);
    const { payment } = parsed;
    try {
      const keyTag = tagOfKey(idempotencyKey, payment);
      const outcome = await this.parts.verifier.verify(payment, keyTag);
      return outcome.isValid
        ? { isValid: true, ...payerOf(payment) }
        : invalid(outcome.reason, payment);
    } catch (error) {
      this.parts.logger.error({ err: error }, 'verify failed');
      return invalid('unexpected_verify_error', payment);
    }
  }

  /**
   * @returns `undefined` when the client hung up.
   * @throws BadRequestException when the body is not an envelope.
   */
  async settle(
    body: unknown,
    versions: Versions,
    terms: SettleTerms,
  ): Promise<SettleAnswer | undefined> {
    const { parsed, subject } = this.#read(body, versions, 'settle');
    const answer = await this.#settle(parsed, terms);
    this.parts.observer.settled(
      subject,
      resultOf(answer),
      answer?.body.errorReason,
      Date.now() - terms.arrivedAt,
    );
    return answer;
  }

  async #settle(parsed: ParsedPayment, terms: SettleTerms): Promise<SettleAnswer | undefined> {
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
      return await this.parts.settler.settle({ ...rest, payment, keyTag, credentials });
    } catch (error) {
      this.parts.logger.error({ err: error, authorizationId: idOf(payment) }, 'settle failed');
      const answers = new SettleAnswers(payment, terms.finality, undefined);
      return answers.failure('unexpected_settle_error');
    }
  }

  get defaultFinality(): Finality {
    return this.parts.config.settleFinality;
  }

  #read(body: unknown, versions: Versions, purpose: Purpose): ReadRequest {
    const envelope = readEnvelope(body);
    if (envelope === undefined) {
      throw new BadRequestException(
        'A JSON object with the objects paymentPayload and paymentRequirements is expected.',
      );
    }
    // One whose endpoints fail now is none the less served: the payment is not at fault.
    const isServed = (chainId: number): boolean => this.parts.chains.get(chainId) !== undefined;
    const parsed = parsePayment(envelope, versions, isServed, purpose);
    return { parsed, subject: subjectOf(envelope, parsed, isServed) };
  }
}

function resultOf(answer: SettleAnswer | undefined): SettleResult {
  if (answer === undefined) return 'hung_up';
  const { status, body } = answer;
  if (body.success) return 'success';
  if (body.errorReason === 'settlement_pending') return 'pending';
  return status === 202 ? 'accepted' : 'failure';
}

/** For a log line about a failure, which may be that the payment cannot be named. */
function idOf(payment: Payment): string | undefined {
  try {
    return identityOf(payment)?.authorizationId;
  } catch {
    return undefined;
  }
}

/**
 * A seller with an API key may have many payees: one order of theirs is one order, whoever is paid. Without
 * one, nobody but who holds the payer's key can come with its payments: no stranger can occupy a seller's
 * order numbers.
 */
function tagOfKey({ value, caller }: ScopedKey, { requirements, claim }: Payment): string {
  const scope = caller === undefined ? [requirements.payTo, claim.from ?? ''] : ['api-key', caller];
  return keyTagOf(value, scope);
}

function payerOf({ payerAsSent }: ResponseEcho): { readonly payer?: string } {
  return payerAsSent === undefined ? {} : { payer: payerAsSent };
}

function invalid(reason: Reason, correspondent: ResponseEcho): VerifyBody {
  return {
    isValid: false,
    invalidReason: reason,
    invalidMessage: REASONS[reason].meaning,
    ...payerOf(correspondent),
  };
}
