import type { HeldLane } from '../../../../src/settlement/ledger/lane-store.js';
import {
  lastRefillOf,
  type RefillBudget,
  type RefillRecord,
  type RefillResult,
  type RefillStore,
} from '../../../../src/settlement/ledger/refill-store.js';
import { type Attempt, mostCostOf } from '../../../../src/settlement/model/attempt.js';
import { dayOf, gweiOf } from '../../../../src/settlement/model/gas-price.js';
import type { LastRefill } from '../../../../src/settlement/model/refill.js';
import type { MemoryGas } from './memory-gas.js';
import { isStored, type MemoryLanes } from './memory-lanes.js';

interface MemoryParts {
  readonly lanes: MemoryLanes;
  readonly gas: MemoryGas;
  /** Lanes that are paused. */
  readonly paused: ReadonlySet<string>;
}

/** {@link RefillStore} in memory. */
export class MemoryRefills implements RefillStore {
  /** By lane. */
  readonly #last = new Map<string, LastRefill>();

  constructor(private readonly parts: MemoryParts) {}

  refill(held: HeldLane, attempt: Attempt, budget: RefillBudget): Promise<RefillResult> {
    const last = lastRefillOf(attempt);
    const { accountNonce } = attempt;
    return this.parts.lanes.step(held, (lane): RefillResult => {
      if (isStored(lane, attempt)) return { kind: 'ok' };
      if (this.parts.paused.has(held.lane)) return { kind: 'paused' };
      if (lane.next !== accountNonce) return { kind: 'nonce' };
      if (lane.attempts.size > 0) return { kind: 'in_flight' };
      const over = this.parts.gas.charge(held, attempt, { ...budget, payeeGwei: undefined });
      if (over !== undefined) return over;
      lane.next = accountNonce + 1;
      lane.attempts.set(accountNonce, attempt);
      this.#last.set(held.lane, last);
      return { kind: 'ok' };
    });
  }

  /** A refill that was sent counts again in a ledger that went back, even above the cap. */
  restore(held: HeldLane, attempt: Attempt): void {
    if (attempt.refill === undefined) return;
    const costGwei = gweiOf(mostCostOf(attempt));
    const day = dayOf(attempt.transactions[0]?.signedAt ?? 0);
    const budget = { costGwei, laneGwei: 2n ** 64n, payeeGwei: undefined, day };
    this.parts.gas.charge(held, attempt, budget);
  }

  refillRecord(
    { chainId, lane }: Pick<HeldLane, 'chainId' | 'lane'>,
    day: string,
  ): Promise<RefillRecord> {
    const spentGwei = this.parts.gas.spentOn(chainId, lane, day);
    return Promise.resolve({ spentGwei, last: this.#last.get(lane) });
  }
}
