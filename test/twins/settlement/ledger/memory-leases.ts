import type {
  AcquiredLane,
  HeldLane,
  LaneLeases,
  OpenedLane,
  RememberedAttempt,
  StoredSettlement,
} from '../../../../src/settlement/ledger/lane-store.js';
import { STATE_OF } from '../../../../src/settlement/model/settlement-machine.js';
import { isFinishedStage } from '../finished-stage.js';
import type { MemoryAttempts } from './memory-attempts.js';
import type { MemoryClaims } from './memory-claims.js';
import type { MemoryLanes } from './memory-lanes.js';
import type { MemoryRefills } from './memory-refills.js';

interface MemoryParts {
  readonly lanes: MemoryLanes;
  readonly claims: MemoryClaims;
  readonly attempts: MemoryAttempts;
  readonly refills: MemoryRefills;
}

/** {@link LaneLeases} in memory. */
export class MemoryLeases implements LaneLeases {
  #leases = 0;
  readonly #listeners = new Set<() => void>();

  constructor(private readonly parts: MemoryParts) {}

  acquire(
    lane: string,
    chainId: number,
    processId: string,
    leaseMs: number,
  ): Promise<AcquiredLane | undefined> {
    const { lanes } = this.parts;
    const record = lanes.get(lane);
    const { lease } = record;
    if (lease !== undefined && lease.until > lanes.now() && lease.processId !== processId) {
      return Promise.resolve(undefined);
    }
    this.#leases += 1;
    const text = `${processId}:${this.#leases}`;
    const now = lanes.now();
    record.lease = { text, processId, renewedAt: now, until: now + leaseMs };
    const held = { lane, chainId, lease: text, epoch: lanes.epoch };
    if (lease === undefined || lease.processId === processId) return Promise.resolve(held);
    const from = { processId: lease.processId, silentMs: now - lease.renewedAt };
    return Promise.resolve({ ...held, from });
  }

  renew(held: HeldLane, leaseMs: number): Promise<void> {
    const { lanes } = this.parts;
    return lanes.step(held, ({ lease }) => {
      if (lease === undefined) return;
      lease.renewedAt = lanes.now();
      lease.until = lanes.now() + leaseMs;
    });
  }

  release(held: HeldLane): Promise<void> {
    return this.parts.lanes.step(held, (lane) => {
      lane.lease = undefined;
    });
  }

  orphans(chainId: number, ownLanes: readonly string[]): Promise<readonly string[]> {
    const { lanes } = this.parts;
    const free = lanes.all.filter(
      ([name, { lease, attempts }]) =>
        name.startsWith(`${chainId}:`) &&
        !ownLanes.includes(name) &&
        attempts.size > 0 &&
        (lease === undefined || lease.until <= lanes.now()),
    );
    return Promise.resolve(free.map(([name]) => name));
  }

  open(held: HeldLane): Promise<OpenedLane> {
    const { lanes, claims } = this.parts;
    return lanes.step(held, ({ next, attempts }) => {
      for (const claim of claims.allInWork(held.lane)) claims.move(claim, 'given_back');
      const all = [...attempts.values()].sort((a, b) => a.accountNonce - b.accountNonce);
      const ids = all.flatMap(({ settlementIds }) => settlementIds);
      const settlements = ids.flatMap((id): [string, StoredSettlement][] => {
        const claim = claims.get(id);
        if (claim === undefined || claim.stage === 'none' || claim.lane !== held.lane) return [];
        if (isFinishedStage(claim.stage)) return [];
        const { payment, accountNonce, inclusion, isResubmitted, stage } = claim;
        const state = STATE_OF[stage];
        return [
          [id, { id, payment, state, accountNonce, inclusion, isResubmitted: isResubmitted }],
        ];
      });
      return { next, attempts: all, settlements: new Map(settlements) };
    });
  }

  setNext(held: HeldLane, known: number | undefined, next: number): Promise<boolean> {
    return this.parts.lanes.step(held, (lane) => {
      if (lane.next !== known) return false;
      lane.next = next;
      return true;
    });
  }

  restoreAttempts(
    held: HeldLane,
    remembered: readonly RememberedAttempt[],
    next: number,
  ): Promise<void> {
    const { lanes, claims, attempts, refills } = this.parts;
    return lanes.step(held, (lane) => {
      lane.next = Math.max(lane.next ?? 0, next);
      for (const { attempt, payments } of remembered) {
        const stored = lane.attempts.get(attempt.accountNonce);
        const known = new Set(stored?.transactions.map(({ hash }) => hash));
        const missing = attempt.transactions.filter(({ hash }) => !known.has(hash));
        const transactions = [...(stored?.transactions ?? []), ...missing];
        lane.attempts.set(attempt.accountNonce, { ...attempt, ...stored, transactions });
        attempts.restoreFunding(held, attempt);
        refills.restore(held, attempt);
        for (const [id, payment] of payments) claims.restore(id, payment, held.lane, attempt);
      }
    });
  }

  onEpochChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  wentBack(): void {
    for (const listener of this.#listeners) listener();
  }
}
