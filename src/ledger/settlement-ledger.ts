import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { authorizationNonceOf } from '../core/exact/authorization.js';
import type { Reason } from '../core/reasons.js';
import {
  type AcceptedPayment,
  boundedDeadlineOf,
  encodePayment,
  inFlightKindOf,
} from '../core/settlement/accepted-payment.js';
import type { PaymentIdentity } from '../core/settlement/identity.js';
import { runScript, script } from '../redis/redis-scripts.js';
import type { Asker } from './asker.js';
import { type InFlight, NOTHING_IN_FLIGHT, readInFlight } from './in-flight.js';
import { ASK, CLAIM, LEAVE, LOOK, SELL } from './lua/asker-scripts.js';
import { PRELUDE } from './lua/prelude.js';
import { asList, asText, asTexts } from './reply.js';
import { readReason, readSnapshot, type Snapshot } from './snapshot.js';

/** What an API process runs in Redis, by name. */
export const ASKER_SCRIPTS = {
  look: script('look', PRELUDE + LOOK),
  claim: script('claim', PRELUDE + CLAIM),
  ask: script('ask', PRELUDE + ASK),
  sell: script('sell', PRELUDE + SELL),
  leave: script('leave', PRELUDE + LEAVE),
};

/** Beyond this many askers of one settlement the next is answered at once. */
const WAITING_MAX = 64;

/** What the ledger knows of a payer that bears on judging one of its payments. */
export interface PayerRecord {
  /** Without what this payment itself may have in flight. */
  readonly inFlight: InFlight;
  /** Settlements of this payer that reverted lately although their simulation was clean. */
  readonly recentReverts: number;
}

/** What the ledger knows that bears on judging one payment. */
export interface Look extends PayerRecord {
  readonly snapshot: Snapshot | undefined;
  /** The settlement the asker's idempotency key is bound to. */
  readonly boundTo: string | undefined;
}

/** Of a payer the ledger knows nothing of, or cannot be asked about. */
export const BLANK_RECORD: PayerRecord = { inFlight: NOTHING_IN_FLIGHT, recentReverts: 0 };

/** What the payer can spend, atomic units, as far as the judgement had to read it. */
export interface PayerMeans {
  readonly balance: bigint | undefined;
  readonly allowance: bigint | undefined;
}

export type ClaimResult =
  | { readonly kind: 'claimed'; readonly queued: number }
  | { readonly kind: 'known' | 'key_conflict' | 'in_flight_changed' | 'permit_in_flight' }
  | { readonly kind: 'queue_full'; readonly queued: number };

/**
 * - `holder`: success, if it comes, is this asker's to hear.
 * - `owner`: it was sold to this asker, or to its idempotency key.
 * - `waiter`: another holds it. `outsider`: it was sold to another.
 */
export type Role = 'holder' | 'owner' | 'waiter' | 'outsider' | 'too_many';

export type AskResult =
  | { readonly kind: 'role'; readonly role: Role; readonly snapshot: Snapshot }
  | { readonly kind: 'gone'; readonly reason: Reason | undefined }
  | { readonly kind: 'key_conflict' };

export type SellResult =
  | { readonly kind: 'sold' | 'lost' | 'unpaid'; readonly snapshot: Snapshot }
  | { readonly kind: 'gone' };

export type LeaveResult =
  | {
      readonly kind: 'withdrawn' | 'left';
      readonly wasHolder: boolean;
      readonly snapshot: Snapshot;
    }
  | { readonly kind: 'gone' };

export interface LedgerLimits {
  readonly queueMax: number;
  readonly retentionSeconds: number;
}

/**
 * The ledger as askers use it. Every method is one atomic step in Redis.
 *
 * @throws LedgerUnavailableError from every method when Redis does not answer: the step may have
 *   been taken.
 */
export class SettlementLedger {
  constructor(
    private readonly redis: Redis,
    private readonly limits: LedgerLimits,
  ) {}

  async look(
    identity: PaymentIdentity,
    keyTag: string,
    { chainId, asset, payer }: { chainId: number; asset: Address; payer: Address },
  ): Promise<Look> {
    const reply = asList(
      await runScript(this.redis, ASKER_SCRIPTS.look, [
        identity.settlementId,
        keyTag,
        chainId,
        asset,
        payer,
      ]),
    );
    const boundTo = asText(reply[1]);
    return {
      snapshot: readSnapshot(identity.settlementId, reply[0]),
      boundTo: boundTo === '' ? undefined : boundTo,
      inFlight: readInFlight(asTexts(reply[2])),
      recentReverts: Number(asText(reply[3])),
    };
  }

  /** @param isHandedOut - whether the answer is a 202, which sells at once. */
  async claim(
    identity: PaymentIdentity,
    payment: AcceptedPayment,
    asker: Asker,
    means: PayerMeans,
    isHandedOut: boolean,
  ): Promise<ClaimResult> {
    const { authorization, chainId, asset, payTo, amount } = payment;
    const reply = asList(
      await runScript(this.redis, ASKER_SCRIPTS.claim, [
        identity.settlementId,
        asker.id,
        asker.keyTag,
        chainId,
        asset,
        authorization.from,
        payTo,
        boundedDeadlineOf(payment),
        `${inFlightKindOf(payment)}:${amount}`,
        means.balance?.toString() ?? '',
        means.allowance?.toString() ?? '',
        this.limits.queueMax,
        this.limits.retentionSeconds,
        asker.arrivedAt,
        isHandedOut ? '1' : '',
        ...['sg', identity.signedTag, 'tm', identity.termsTag],
        ...['me', authorization.method, 'am', amount.toString()],
        ...['nn', authorizationNonceOf(authorization).toString()],
        ...['pay', encodePayment(payment)],
      ]),
    );
    const kind = asText(reply[0]);
    switch (kind) {
      case 'claimed':
      case 'queue_full':
        return { kind, queued: Number(asText(reply[1])) };
      case 'known':
      case 'key_conflict':
      case 'in_flight_changed':
      case 'permit_in_flight':
        return { kind };
      default:
        throw new TypeError(`claim answered ${kind}`);
    }
  }

  /** @param generation - the claim the asker waits for, where it knows it. */
  async ask(id: string, asker: Asker, generation: string): Promise<AskResult> {
    const reply = asList(
      await runScript(this.redis, ASKER_SCRIPTS.ask, [
        id,
        asker.id,
        asker.keyTag,
        asker.arrivedAt,
        WAITING_MAX,
        this.limits.retentionSeconds,
        generation,
      ]),
    );
    const role = asText(reply[0]);
    if (role === 'key_conflict') return { kind: 'key_conflict' };
    if (role === 'gone') return { kind: 'gone', reason: readReason(asText(reply[1])) };
    return { kind: 'role', role: role as Role, snapshot: present(readSnapshot(id, reply[1])) };
  }

  async sell(id: string, asker: Asker, isHandedOut: boolean): Promise<SellResult> {
    const reply = asList(
      await runScript(this.redis, ASKER_SCRIPTS.sell, [
        id,
        asker.id,
        asker.keyTag,
        isHandedOut ? '1' : '',
      ]),
    );
    const kind = asText(reply[0]);
    if (kind === 'gone') return { kind };
    return {
      kind: kind as 'sold' | 'lost' | 'unpaid',
      snapshot: present(readSnapshot(id, reply[1])),
    };
  }

  async leave(id: string, asker: Asker, cause: 'timeout' | 'closed'): Promise<LeaveResult> {
    const reply = asList(
      await runScript(this.redis, ASKER_SCRIPTS.leave, [
        id,
        asker.id,
        asker.keyTag,
        cause,
        this.limits.retentionSeconds,
      ]),
    );
    const kind = asText(reply[0]);
    if (kind === 'gone') return { kind };
    return {
      kind: kind as 'withdrawn' | 'left',
      wasHolder: asText(reply[1]) === '1',
      snapshot: present(readSnapshot(id, reply[2])),
    };
  }
}

function present(snapshot: Snapshot | undefined): Snapshot {
  if (snapshot === undefined) throw new TypeError('a script answered without a snapshot');
  return snapshot;
}
