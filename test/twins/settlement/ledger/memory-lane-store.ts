import type { LaneLedger } from '../../../../src/settlement/ledger/lane-store.js';
import type { Attempt } from '../../../../src/settlement/model/attempt.js';
import { MemoryAttempts } from './memory-attempts.js';
import { MemoryClaims } from './memory-claims.js';
import { MemoryEndings } from './memory-endings.js';
import { MemoryGas } from './memory-gas.js';
import { MemoryLanes } from './memory-lanes.js';
import { MemoryLeases } from './memory-leases.js';
import { MemoryQueue } from './memory-queue.js';
import { MemoryRefills } from './memory-refills.js';

/** {@link LaneLedger} in memory: for tests of lanes, kept true by a suite that it shares. */
export class MemoryLaneStore implements LaneLedger {
  readonly claims: MemoryClaims;
  readonly gas: MemoryGas;
  readonly reverts = new Map<string, number>();
  readonly paused = new Set<string>();
  readonly retiring = new Set<string>();
  readonly leases: MemoryLeases;
  readonly queue: MemoryQueue;
  readonly attempts: MemoryAttempts;
  readonly endings: MemoryEndings;
  readonly refills: MemoryRefills;
  readonly #lanes: MemoryLanes;

  constructor(now: () => number) {
    const blame = (blamed: string): void => {
      this.reverts.set(blamed, (this.reverts.get(blamed) ?? 0) + 1);
    };
    const { paused, retiring } = this;
    const lanes = new MemoryLanes(now);
    const claims = new MemoryClaims(now, blame);
    const gas = new MemoryGas((id) => claims.mustHave(id).payment);
    const attempts = new MemoryAttempts({ lanes, claims, gas, paused });
    const refills = new MemoryRefills({ lanes, gas, paused });
    this.#lanes = lanes;
    this.claims = claims;
    this.gas = gas;
    this.attempts = attempts;
    this.refills = refills;
    this.leases = new MemoryLeases({ lanes, claims, attempts, refills });
    this.queue = new MemoryQueue({ now, lanes, claims, paused, retiring });
    this.endings = new MemoryEndings({ now, lanes, claims, gas, blame });
  }

  attemptsOf(lane: string): readonly Attempt[] {
    return [...this.#lanes.get(lane).attempts.values()];
  }

  /** Returns a function that restores the present state. */
  snapshot(): () => void {
    const parts = [this.#lanes, this.claims, this.gas, this.attempts].map((part) =>
      part.snapshot(),
    );
    return () => {
      for (const goBack of parts) goBack();
      this.leases.wentBack();
    };
  }
}
