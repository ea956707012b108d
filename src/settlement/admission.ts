import { Inject, Injectable } from '@nestjs/common';
import type { EvmChain } from '../platform/chain/evm-chain.js';
import { AppConfig } from '../platform/config/app-config.js';
import type { AcceptedPayment } from '../protocol/payment/accepted-payment.js';
import { boundedDeadlineOf, soleSenderOf } from '../protocol/payment/payment-facts.js';
import type { Reason } from '../protocol/reasons.js';
import { LaneQueries } from './ledger/queries/lane-queries.js';
import type { ClaimedPayment } from './ledger/settlement-store.js';
import type { LaneStatus } from './model/lane-status.js';

/** Added to every estimate, because a missed block costs another one, and clocks differ. */
const MARGIN_MS = 1000;
/** Without a lane's measurement: a block or two. */
const UNKNOWN_INCLUSION_MS = 2000;
/**
 * How long the length of a queue counts. Only claims show it: while a length refuses all payments, none corrects it.
 */
const QUEUED_KEPT_MS = 2000;

/** Decides whether a valid payment can be settled in time, before it is queued. */
@Injectable()
export class Admission {
  /** By chain. */
  readonly #queuedLately = new Map<number, { readonly count: number; readonly at: number }>();

  constructor(
    @Inject(LaneQueries) private readonly lanes: Pick<LaneQueries, 'live'>,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'headMaxAgeMs'>,
  ) {}

  /** Notes how many settlements wait in the payment's queue, as its claim saw it. */
  noteQueued(payment: ClaimedPayment, queued: number): void {
    this.#queuedLately.set(payment.chainId, { count: queued, at: performance.now() });
  }

  /** @throws RedisUnavailableError */
  async refusal(payment: AcceptedPayment, chain: EvmChain): Promise<Reason | undefined> {
    const live = await this.lanes.live(payment.chainId);
    const sender = soleSenderOf(payment);
    const lanes = live.filter(({ signer, isRetiring = false }) =>
      sender === undefined ? !isRetiring : signer.toLowerCase() === sender,
    );
    if (lanes.length > 0) {
      // Lanes with a temporary condition count: a payment may wait for them.
      if (lanes.every((lane) => lane.trouble === 'no_gas')) return 'no_gas';
      if (lanes.every((lane) => lane.trouble === 'budget_exhausted')) return 'budget_exhausted';
    }
    if (this.#isStale(chain)) return 'network_unavailable';
    const remainingMs = boundedDeadlineOf(payment) * 1000 - Date.now();
    return remainingMs < this.#estimateMs(payment, lanes) ? 'deadline_too_close' : undefined;
  }

  /**
   * Seconds after which a queue that is full now will have room.
   *
   * @throws RedisUnavailableError
   */
  async retryAfterSeconds(payment: ClaimedPayment, queued: number): Promise<number> {
    const lanes = await this.lanes.live(payment.chainId);
    const perSecond = sum(lanes.map((lane) => lane.perSecond));
    return Math.max(1, Math.min(60, Math.ceil(queued / 4 / Math.max(1, perSecond))));
  }

  #estimateMs(payment: ClaimedPayment, lanes: readonly LaneStatus[]): number {
    const inclusionMs = Math.max(
      0,
      ...lanes.map((lane) => (lane.inclusionMs > 0 ? lane.inclusionMs : UNKNOWN_INCLUSION_MS)),
    );
    const perSecond = sum(lanes.map((lane) => lane.perSecond));
    const queued = this.#queuedOn(payment.chainId);
    const waitingMs = perSecond > 0 ? (queued / perSecond) * 1000 : 0;
    return inclusionMs + waitingMs + MARGIN_MS;
  }

  #queuedOn(chainId: number): number {
    const queued = this.#queuedLately.get(chainId);
    return queued !== undefined && performance.now() - queued.at < QUEUED_KEPT_MS
      ? queued.count
      : 0;
  }

  #isStale(chain: EvmChain): boolean {
    const newest = chain.newestBlockTime;
    if (this.config.headMaxAgeMs === 0 || newest === undefined) return false;
    return Date.now() - newest * 1000 > this.config.headMaxAgeMs + PROBED_EVERY_MS;
  }
}

/** A process without lanes sees new blocks only through its probes. */
const PROBED_EVERY_MS = 10_000;

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
