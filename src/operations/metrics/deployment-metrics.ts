import { Inject, Injectable } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { ABILITIES } from '../../platform/chain/refusals.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import type { TreasuryStatus } from '../../settlement/model/refill.js';
import { DeploymentReport } from '../health/deployment-report.js';
import type { LaneHealth } from '../health/lane-health.js';
import type { NetworkHealth } from '../health/network-health.js';
import type { QueueHealth } from '../health/queue-health.js';
import { Sampled, type Sampler } from './sampler.js';

const WEI_PER_COIN = 1e18;

/**
 * Gauges of the whole deployment, from the reports of health. Every process shows the same values, so a query takes
 * their maximum. A value that could not be read is absent, not zero.
 */
@Injectable()
@Sampled()
export class DeploymentMetrics implements Sampler {
  readonly #gauges: readonly Gauge[];
  readonly #showNetwork: (network: NetworkHealth) => void;
  readonly #showLane: (lane: LaneHealth) => void;
  readonly #showQueue: (queue: QueueHealth) => void;
  readonly #unclaimed: Gauge<'network'>;
  readonly #processes: Gauge<'role'>;

  constructor(
    registry: Registry,
    @Inject(DeploymentReport)
    private readonly deployment: Pick<
      DeploymentReport,
      'networks' | 'lanes' | 'queues' | 'unclaimed'
    >,
    @Inject(ProcessRegistry) private readonly processes: Pick<ProcessRegistry, 'live'>,
  ) {
    const gauges: Gauge[] = [];
    const gauge: GaugeMaker = (name, help, labelNames) => {
      const made = new Gauge({ name, help, labelNames, registers: [registry] });
      gauges.push(made);
      return made;
    };
    this.#showNetwork = networkGauges(gauge);
    this.#showLane = laneGauges(gauge);
    this.#showQueue = queueGauges(gauge);
    this.#unclaimed = gauge(
      'x402_settlements_unclaimed',
      'Final payments for which no requester has its success: paid and not delivered.',
      ['network'],
    );
    this.#processes = gauge('x402_processes', 'Living processes of the deployment by role.', [
      'role',
    ]);
    this.#gauges = gauges;
  }

  async refresh(): Promise<void> {
    const [networks, lanes, queues, unclaimed, processes] = await Promise.allSettled([
      this.deployment.networks(),
      this.deployment.lanes(),
      this.deployment.queues(),
      this.deployment.unclaimed(),
      this.processes.live(),
    ]);
    for (const gauge of this.#gauges) gauge.reset();
    for (const network of readOrNone(networks)) this.#showNetwork(network);
    for (const lane of readOrNone(lanes)) this.#showLane(lane);
    for (const queue of readOrNone(queues)) this.#showQueue(queue);
    for (const { network, count } of readOrNone(unclaimed)) this.#unclaimed.set({ network }, count);
    if (processes.status === 'rejected') return;
    const roles = processes.value.flatMap((one) => one.roles);
    for (const role of ['api', 'worker', ...roles]) {
      this.#processes.set({ role }, roles.filter((one) => one === role).length);
    }
  }
}

type GaugeMaker = <L extends string>(name: string, help: string, labelNames: L[]) => Gauge<L>;

function readOrNone<T>(result: PromiseSettledResult<readonly T[]>): readonly T[] {
  return result.status === 'fulfilled' ? result.value : [];
}

function networkGauges(gauge: GaugeMaker): (network: NetworkHealth) => void {
  const canSettle = gauge(
    'x402_network_can_settle',
    'Whether all live processes together can settle on the network: 1 or 0.',
    ['network'],
  );
  const trouble = gauge('x402_network_trouble', 'Why a network cannot be settled on: 1 each.', [
    'network',
    'code',
  ]);
  const headAge = gauge(
    'x402_network_head_age_seconds',
    'Age of the newest block this process has seen.',
    ['network'],
  );
  const up = gauge('x402_rpc_endpoint_up', 'Whether an endpoint answers, for the right chain.', [
    'network',
    'endpoint',
  ]);
  const lag = gauge(
    'x402_rpc_endpoint_lag_blocks',
    'Blocks an endpoint was behind the best one when both were probed.',
    ['network', 'endpoint'],
  );
  const cannotAnswer = gauge(
    'x402_rpc_endpoint_cannot_answer',
    'Whether an endpoint has proved, by error after error, that it cannot answer this: 1 or 0.',
    ['network', 'endpoint', 'what'],
  );
  return ({ network, canSettle: can, code, headAgeMs, endpoints }) => {
    canSettle.set({ network }, can ? 1 : 0);
    if (code !== undefined) trouble.set({ network, code }, 1);
    if (headAgeMs !== undefined) headAge.set({ network }, headAgeMs / 1000);
    for (const { endpoint, code: endpointCode, lagBlocks, cannotAnswer: abilities } of endpoints) {
      const labels = { network, endpoint: String(endpoint) };
      const isDown = endpointCode === 'unreachable' || endpointCode === 'wrong_chain';
      up.set(labels, isDown ? 0 : 1);
      lag.set(labels, lagBlocks);
      for (const what of ABILITIES) {
        cannotAnswer.set({ ...labels, what }, abilities?.includes(what) === true ? 1 : 0);
      }
    }
  };
}

function laneGauges(gauge: GaugeMaker): (lane: LaneHealth) => void {
  const ofLane = (name: string, help: string): Gauge<'network' | 'lane'> =>
    gauge(name, help, ['network', 'lane']);
  const up = ofLane('x402_lane_up', 'Whether a living process writes the lane: 1 or 0.');
  const trouble = gauge('x402_lane_trouble', 'Why a lane takes no work: 1 each.', [
    'network',
    'lane',
    'code',
  ]);
  const left = ofLane(
    'x402_lane_settlements_left',
    'Settlements the gas balance still pays for, at the price of now.',
  );
  const balance = ofLane('x402_lane_balance_coins', 'Gas balance of the signer, in native coins.');
  const inFlight = ofLane('x402_lane_in_flight', 'Transactions that no block has taken yet.');
  const window = ofLane('x402_lane_window', 'Transactions that may be in flight now.');
  const gaps = ofLane(
    'x402_lane_gaps',
    'Account nonces allocated and not finalized, of which nothing is stored.',
  );
  const oldest = ofLane(
    'x402_lane_oldest_in_flight_seconds',
    'How long the oldest transaction in flight has been without a block.',
  );
  const showTreasury = treasuryGauges(gauge);
  return ({ network, signer, code, treasury, ...lane }) => {
    const labels = { network, lane: signer };
    up.set(labels, code === 'no_owner' ? 0 : 1);
    if (treasury !== undefined) {
      showTreasury(labels, code, treasury);
    } else {
      if (code !== undefined) trouble.set({ ...labels, code }, 1);
      left.set(labels, lane.settlementsLeft);
    }
    balance.set(labels, Number(lane.balanceWei) / WEI_PER_COIN);
    inFlight.set(labels, lane.inFlight);
    window.set(labels, lane.window);
    gaps.set(labels, lane.gaps);
    oldest.set(labels, lane.oldestInFlightMs / 1000);
  };
}

type LaneLabels = Record<'network' | 'lane', string>;

/** In place of the gauges that only settling lanes have. */
function treasuryGauges(
  gauge: GaugeMaker,
): (labels: LaneLabels, code: LaneHealth['code'], treasury: TreasuryStatus) => void {
  const trouble = gauge('x402_treasury_trouble', 'Why a treasury refills no lane: 1 each.', [
    'network',
    'lane',
    'code',
  ]);
  const left = gauge(
    'x402_treasury_cap_left_coins',
    'Native coins that the cap of the day leaves to a treasury.',
    ['network', 'lane'],
  );
  return (labels, code, { dailyCapWei, spentTodayWei }) => {
    if (code !== undefined) trouble.set({ ...labels, code }, 1);
    left.set(labels, Math.max(0, Number(dailyCapWei) - Number(spentTodayWei)) / WEI_PER_COIN);
  };
}

function queueGauges(gauge: GaugeMaker): (queue: QueueHealth) => void {
  const depth = gauge('x402_queue_depth', 'Settlements that wait to be signed.', ['network']);
  const oldest = gauge(
    'x402_queue_oldest_age_seconds',
    'Age of the oldest settlement that waits to be signed.',
    ['network'],
  );
  const idle = gauge(
    'x402_queue_idle',
    'Whether work waits while nothing of the network is on its way: 1 or 0.',
    ['network'],
  );
  const live = gauge('x402_settlements_live', 'Settlements that are not finished.', ['network']);
  return ({ network, ...queue }) => {
    depth.set({ network }, queue.depth);
    oldest.set({ network }, queue.oldestMs / 1000);
    idle.set({ network }, queue.code === 'idle' ? 1 : 0);
    live.set({ network }, queue.live);
  };
}
