import type { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { type Attempt, encodeAttempt } from '../model/attempt.js';
import type { LedgerEpochs } from './epoch.js';
import { laneKey, laneSpentKey } from './keys.js';
import type { HeldLane } from './lane-store.js';
import { LaneStepRunner, type LedgerLifetimes } from './redis-lanes/lane-step-runner.js';
import {
  lastRefillOf,
  readLastRefill,
  type RefillBook,
  type RefillBudget,
  type RefillResult,
  type RefillStore,
} from './refill-store.js';
import { asTexts } from './reply.js';
import { loadScript } from './script-files.js';

const REFILL = loadScript('refill');

/** {@link RefillStore} in Redis. */
export class RedisRefillStore implements RefillStore {
  readonly #runner: LaneStepRunner;

  constructor(
    private readonly ledger: LedgerConnections,
    epochs: LedgerEpochs,
    lifetimes: LedgerLifetimes,
  ) {
    this.#runner = new LaneStepRunner(ledger, epochs, lifetimes);
  }

  async refill(held: HeldLane, attempt: Attempt, budget: RefillBudget): Promise<RefillResult> {
    const last = lastRefillOf(attempt);
    const { costGwei, laneGwei, day } = budget;
    const [kind, subject = ''] = asTexts(
      await this.#runner.write(
        REFILL,
        held,
        [],
        [
          attempt.accountNonce,
          encodeAttempt(attempt),
          last.to,
          costGwei.toString(),
          laneGwei.toString(),
          day,
          JSON.stringify(last),
        ],
      ),
    );
    if (kind === 'ok' || kind === 'paused' || kind === 'nonce' || kind === 'in_flight') {
      return { kind };
    }
    if (kind === 'budget') return { kind, subject };
    throw new TypeError(`refill answered ${kind ?? 'nothing'}`);
  }

  async refillBook(
    { chainId, lane }: Pick<HeldLane, 'chainId' | 'lane'>,
    day: string,
  ): Promise<RefillBook> {
    const redis = this.ledger.of(chainId);
    const [spent, last] = await redisCall(
      'refill book',
      Promise.all([
        redis.get(laneSpentKey(chainId, lane, day)),
        redis.hget(laneKey(chainId, lane), 'refill'),
      ]),
    );
    const spentGwei = spent !== null && /^-?\d{1,30}$/.test(spent) ? BigInt(spent) : 0n;
    return { spentGwei, last: last === null ? undefined : readLastRefill(last) };
  }
}
