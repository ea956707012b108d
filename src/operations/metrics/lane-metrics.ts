import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { SignFailure } from '../../platform/signing/key-service.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { channelActionOf } from '../../protocol/schemes/registry.js';
import type { LaneObserver } from '../../settlement/lanes/lane-observer.js';
import type { Ending, ParkReason } from '../../settlement/ledger/lane-store.js';
import { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import { type Attempt, valueSentBy } from '../../settlement/model/attempt.js';
import { ErrorMetrics } from './error-metrics.js';

/** Seconds. */
const WAIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
/** Seconds. A key service answers in some 20 to 200 ms. */
const SIGN_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 10];
/** Seconds. Blocks of BNB Chain come every 0.45 s. */
const BLOCK_BUCKETS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 13, 30, 60];
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 100];
/** Gas units of one settlement: a share of a batch, or a separate transaction. */
const GAS_BUCKETS = [30_000, 45_000, 60_000, 80_000, 100_000, 130_000, 180_000, 250_000, 300_000];
/** Native coins of one settlement: 60 000 gas at 0.05 gwei are 0.000003. */
const FEE_BUCKETS = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 5e-4, 1e-3];
const WEI_PER_COIN = 1e18;

const LANE_LABELS = ['network', 'lane'] as const;
type LaneLabels = Record<(typeof LANE_LABELS)[number], string>;

const PARK_REASONS: readonly ParkReason[] = ['state_unreadable', 'search_failed'];

/** Counts and times the work of lanes. */
@Injectable()
export class LaneMetrics implements LaneObserver {
  readonly #series: ReturnType<typeof laneSeries>;
  /** When attempts were included in a block, as long as their lane remembers them. */
  readonly #includedAt = new WeakMap<Attempt, number>();

  constructor(
    registry: Registry,
    @Inject(LaneQueries) private readonly queries: Pick<LaneQueries, 'waitsMs'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'error'>,
    private readonly errors: ErrorMetrics,
  ) {
    this.#series = laneSeries(registry);
  }

  opened(lane: string): void {
    const labels = labelsOf(lane);
    // Prometheus sees an increase only if the series existed before it.
    for (const counter of this.#series.laneCounters) counter.inc(labels, 0);
    const { network } = labels;
    this.#series.resubmitted.inc({ network }, 0);
    for (const reason of PARK_REASONS) this.#series.parkings.inc({ network, reason }, 0);
    this.#series.opened.inc(labels);
  }

  lost(lane: string): void {
    this.#series.lost.inc(labelsOf(lane));
  }

  takenOver(): void {
    // It is logged.
  }

  sent(lane: string, attempt: Attempt): void {
    const labels = labelsOf(lane);
    this.#series.attempts.inc({ ...labels, kind: attempt.kind });
    if (attempt.settlementIds.length === 0) return;
    const { network } = labels;
    this.#series.batchSize.observe({ network }, attempt.settlementIds.length);
    void this.#noteWaits(lane, attempt);
  }

  broadcast(): void {
    // It is logged.
  }

  feesBumped(lane: string): void {
    this.#series.bumps.inc(labelsOf(lane));
  }

  rebroadcast(lane: string): void {
    this.#series.rebroadcasts.inc(labelsOf(lane));
  }

  included(
    ...[lane, attempt, inclusion, latencyMs, payments]: Parameters<LaneObserver['included']>
  ): void {
    const { gasUsed, effectiveGasPrice, credited } = inclusion;
    const labels = labelsOf(lane);
    const { network } = labels;
    this.#includedAt.set(attempt, performance.now());
    this.#series.inclusionSeconds.observe({ network }, latencyMs / 1000);
    const feeCoins = Number(gasUsed * effectiveGasPrice) / WEI_PER_COIN;
    this.#series.feeCoins.inc(labels, feeCoins);
    const sentWei = valueSentBy(attempt, inclusion);
    const coins = attempt.kind === 'refill' ? this.#series.refilledCoins : this.#series.fundedCoins;
    if (sentWei > 0n) coins.inc(labels, Number(sentWei) / WEI_PER_COIN);
    const paid = credited.size;
    for (const id of credited.keys()) {
      const payment = payments.get(id);
      const action = (payment && channelActionOf(payment.authorization)) ?? '';
      this.#series.settlementGas.observe({ network, action }, Number(gasUsed) / paid);
      this.#series.settlementFeeCoins.observe({ network, action }, feeCoins / paid);
    }
  }

  reorged(lane: string, attempt: Attempt): void {
    this.#includedAt.delete(attempt);
    this.#series.reorgs.inc(labelsOf(lane));
  }

  ended(lane: string, attempt: Attempt | undefined, endings: readonly Ending[]): void {
    const { network } = labelsOf(lane);
    for (const { state, isPaid, reason } of endings) {
      const paid = String(isPaid);
      this.#series.settlements.inc({ network, state, paid, reason: reason ?? '' });
    }
    const included = attempt === undefined ? undefined : this.#includedAt.get(attempt);
    if (included === undefined || !endings.some(({ state }) => state === 'finalized')) return;
    this.#series.finalitySeconds.observe({ network }, (performance.now() - included) / 1000);
  }

  resubmitted(lane: string, { length }: readonly string[]): void {
    this.#series.resubmitted.inc({ network: labelsOf(lane).network }, length);
  }

  parked(lane: string, _: string, reason: ParkReason): void {
    this.#series.parkings.inc({ network: labelsOf(lane).network, reason });
  }

  parkedNow(chainId: number, count: number): void {
    this.#series.parked.set({ network: caip2Of(chainId) }, count);
  }

  restored(lane: string): void {
    this.#series.restorations.inc(labelsOf(lane));
  }

  nonceUsedByOther(lane: string): void {
    this.#series.foreignNonces.inc(labelsOf(lane));
  }

  batchReverted(lane: string): void {
    this.#series.batchReverts.inc(labelsOf(lane));
  }

  signed(lane: string, ms: number): void {
    this.#series.signSeconds.observe({ network: labelsOf(lane).network }, ms / 1000);
  }

  notSigned(lane: string, reason: SignFailure): void {
    this.#series.signFailures.inc({ ...labelsOf(lane), reason });
  }

  failed(_: string, what: string): void {
    this.errors.count(what === 'queue' ? 'queue' : 'lane');
  }

  /** Reads how long sent settlements had waited. */
  async #noteWaits(lane: string, { settlementIds }: Attempt): Promise<void> {
    const { network } = labelsOf(lane);
    const chainId = Number(lane.split(':')[0]);
    try {
      for (const waitMs of await this.queries.waitsMs(chainId, settlementIds)) {
        this.#series.queueWaitSeconds.observe({ network }, waitMs / 1000);
      }
    } catch (error) {
      // A metric must not cause a failure: during an outage of the ledger it is left out.
      if (error instanceof RedisUnavailableError) return;
      this.logger.error({ err: error }, 'queue waits');
    }
  }
}

/** A lane is named `<chainId>:<signer>`. */
function labelsOf(lane: string): LaneLabels {
  const [chainId, signer = ''] = lane.split(':');
  return { network: caip2Of(Number(chainId)), lane: signer };
}

function laneSeries(registry: Registry) {
  const registers = [registry];
  const laneCounter = (name: string, help: string): Counter<keyof LaneLabels> =>
    new Counter({ name, help, labelNames: [...LANE_LABELS], registers });
  const histogram = <L extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    more: readonly L[] = [],
  ): Histogram<'network' | L> =>
    new Histogram({ name, help, labelNames: ['network', ...more], buckets, registers });

  const laneCounters = {
    opened: laneCounter(
      'x402_lane_openings_total',
      'Times a lane was opened, by a process that took it or found its record in doubt.',
    ),
    lost: laneCounter('x402_lane_losses_total', 'Times a process lost the lease of a lane.'),
    bumps: laneCounter(
      'x402_attempt_bumps_total',
      'Transactions replaced at their account nonce by one with a higher fee.',
    ),
    rebroadcasts: laneCounter(
      'x402_attempt_rebroadcasts_total',
      'Transactions sent again, the same bytes, because no block had taken them.',
    ),
    reorgs: laneCounter(
      'x402_attempt_reorgs_total',
      'Included transactions whose block was replaced.',
    ),
    foreignNonces: laneCounter(
      'x402_lane_foreign_nonces_total',
      'Account nonces used by transactions that are not ours.',
    ),
    restorations: laneCounter(
      'x402_lane_restorations_total',
      'Times what a lane remembered was stored again in a ledger that went back.',
    ),
    batchReverts: laneCounter('x402_attempt_batch_reverts_total', 'Batches that reverted.'),
    feeCoins: laneCounter('x402_lane_fee_coins_total', 'Gas fees paid, in native coins.'),
    fundedCoins: laneCounter(
      'x402_lane_funded_coins_total',
      'Native coins sent to payers for their approvals.',
    ),
    refilledCoins: laneCounter(
      'x402_treasury_refilled_coins_total',
      'Native coins that a treasury sent to lanes; the label is its own account.',
    ),
  };
  return {
    ...laneCounters,
    laneCounters: Object.values(laneCounters),
    attempts: new Counter({
      name: 'x402_attempts_total',
      help: 'Account nonces used: for a single settlement, a batch, native coins for a payer (fund) or a lane (refill), or (noop) to fill a gap.',
      labelNames: [...LANE_LABELS, 'kind'],
      registers,
    }),
    settlements: new Counter({
      name: 'x402_settlements_total',
      help: 'Settlements that reached a final state, by state and reason.',
      labelNames: ['network', 'state', 'paid', 'reason'],
      registers,
    }),
    resubmitted: new Counter({
      name: 'x402_settlements_collected_again_total',
      help: 'Settlements reported as success that a reorganisation removed; they are resubmitted.',
      labelNames: ['network'],
      registers,
    }),
    parkings: new Counter({
      name: 'x402_settlement_parkings_total',
      help: 'Settlements parked because their outcome could not be determined, by reason.',
      labelNames: ['network', 'reason'],
      registers,
    }),
    parked: new Gauge({
      name: 'x402_settlements_parked',
      help: 'Settlements whose outcome cannot be determined now; they are retried.',
      labelNames: ['network'],
      registers,
    }),
    signFailures: new Counter({
      name: 'x402_signer_failures_total',
      help: 'Signatures that the key service failed to give after all retries, by reason.',
      labelNames: [...LANE_LABELS, 'reason'],
      registers,
    }),
    signSeconds: histogram(
      'x402_signer_seconds',
      'What a signature of a key service took, with all tries.',
      SIGN_BUCKETS,
    ),
    batchSize: histogram(
      'x402_attempt_settlements',
      'Settlements in one transaction.',
      BATCH_BUCKETS,
    ),
    queueWaitSeconds: histogram(
      'x402_settlement_queue_wait_seconds',
      'From the claim of a settlement until its first transaction is stored.',
      WAIT_BUCKETS,
    ),
    inclusionSeconds: histogram(
      'x402_attempt_inclusion_seconds',
      'From the first send of a transaction until a block has it.',
      BLOCK_BUCKETS,
    ),
    finalitySeconds: histogram(
      'x402_attempt_finality_seconds',
      'From inclusion until the block cannot be replaced.',
      BLOCK_BUCKETS,
    ),
    settlementGas: histogram(
      'x402_settlement_gas',
      'Gas units of one paid settlement; in a batch, its equal share. Label `action`: what it does to a channel, empty for a payment.',
      GAS_BUCKETS,
      ['action'],
    ),
    settlementFeeCoins: histogram(
      'x402_settlement_fee_coins',
      'Gas fee of one paid settlement, in native coins; in a batch, its equal share. Label `action` as for the gas.',
      FEE_BUCKETS,
      ['action'],
    ),
  };
}
