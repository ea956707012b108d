import { BadRequestException, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../chain/chain-registry.js';
import { AppConfig } from '../config/app-config.js';
import {
  type Correspondent,
  parsePayment,
  type PaymentEnvelope,
  readEnvelope,
} from '../core/payment/parse-payment.js';
import type { Payment } from '../core/payment/payment.js';
import { REASONS, type Reason } from '../core/reasons.js';
import type { Finality } from '../core/settlement/settlement.js';
import { type SettleAnswer, SettleAnswers } from '../settlement/settle-answer.js';
import { keyTagOf, SettleService } from '../settlement/settle.service.js';
import type { Connection } from '../settlement/asker-wait.js';
import { VerifyService } from '../verification/verify.service.js';

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
  readonly isAsync: boolean;
  readonly finality: Finality;
  readonly arrivedAt: number;
  readonly connection: Connection;
}

/** From request bodies to answers, for every version alike. */
@Injectable()
export class FacilitatorService {
  constructor(
    private readonly config: AppConfig,
    private readonly chains: ChainRegistry,
    private readonly verifier: VerifyService,
    private readonly settler: SettleService,
    private readonly logger: PinoLogger,
  ) {}

  /** @throws BadRequestException when the body is not an envelope. */
  async verify(body: unknown, versions: Versions, idempotencyKey: ScopedKey): Promise<VerifyBody> {
    const parsed = this.#parse(body, versions);
    if (!parsed.ok) return invalid(parsed.reason, parsed.correspondent);
    const { payment } = parsed;
    try {
      const keyTag = tagOfKey(idempotencyKey, payment);
      const outcome = await this.verifier.verify(payment, keyTag);
      return outcome.isValid
        ? { isValid: true, ...payerOf(payment) }
        : invalid(outcome.reason, payment);
    } catch (error) {
      this.logger.error({ err: error }, 'verify failed');
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
    const parsed = this.#parse(body, versions);
    if (!parsed.ok) {
      const answers = new SettleAnswers(parsed.correspondent, terms.finality, undefined);
      return answers.failure(parsed.reason);
    }
    const { payment } = parsed;
    try {
      return await this.settler.settle({
        ...terms,
        payment,
        keyTag: tagOfKey(terms.idempotencyKey, payment),
      });
    } catch (error) {
      this.logger.error({ err: error }, 'settle failed');
      const answers = new SettleAnswers(payment, terms.finality, undefined);
      return answers.failure('unexpected_settle_error');
    }
  }

  get defaultFinality(): Finality {
    return this.config.settleFinality;
  }

  #parse(body: unknown, versions: Versions): ReturnType<typeof parsePayment> {
    const envelope: PaymentEnvelope | undefined = readEnvelope(body);
    if (envelope === undefined) {
      throw new BadRequestException(
        'A JSON object with the objects paymentPayload and paymentRequirements is expected.',
      );
    }
    return parsePayment(envelope, versions, (id) => this.chains.served(id) !== undefined);
  }
}

/** A seller with an API key may have many payees: one order of theirs is one order, whoever is paid. */
function tagOfKey({ value, caller }: ScopedKey, { requirements }: Payment): string {
  return keyTagOf(value, caller === undefined ? requirements.payTo : `key:${caller}`);
}

function payerOf({ payerAsSent }: Correspondent): { readonly payer?: string } {
  return payerAsSent === undefined ? {} : { payer: payerAsSent };
}

function invalid(reason: Reason, correspondent: Correspondent): VerifyBody {
  return {
    isValid: false,
    invalidReason: reason,
    invalidMessage: REASONS[reason].meaning,
    ...payerOf(correspondent),
  };
}
