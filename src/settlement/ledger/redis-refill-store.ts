import { Injectable } from '@nestjs/common';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { type Attempt, encodeAttempt } from '../model/attempt.js';
import { laneKey, laneSpentKey } from './keys.js';
import type { HeldLane } from './lane-store.js';
import { LedgerScripts } from './ledger-scripts.js';
import {
  lastRefillOf,
  readLastRefill,
  type RefillBudget,
  type RefillRecord,
  type RefillResult,
  type RefillStore,
} from './refill-store.js';
import { asTexts } from './reply.js';
import { loadScript } from './script-files.js';

const REFILL = loadScript('refill');

/** {@link RefillStore} in Redis. */
@Injectable()
export class RedisRefillStore implements RefillStore {
  constructor(private readonly scripts: LedgerScripts) {}

  async refill(held: HeldLane, attempt: Attempt, budget: RefillBudget): Promise<RefillResult> {
    const last = lastRefillOf(attempt);
    const { costGwei, laneGwei, day } = budget;
    const [kind, subject = ''] = asTexts(
      await this.scripts.runHeld(
        held,
        REFILL,
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
    throw new TypeError(`unexpected reply of the script refill: ${kind ?? 'nothing'}`);
  }

  async refillRecord(
    { chainId, lane }: Pick<HeldLane, 'chainId' | 'lane'>,
    day: string,
  ): Promise<RefillRecord> {
    const redis = this.scripts.ledger.of(chainId);
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
