import { isDeepStrictEqual } from 'node:util';
import { LeaseLostError, LedgerEpochChangedError } from '../../../../src/protocol/errors.js';
import type { HeldLane } from '../../../../src/settlement/ledger/lane-store.js';
import type { Attempt } from '../../../../src/settlement/model/attempt.js';

interface Lane {
  lease:
    | { readonly text: string; readonly processId: string; renewedAt: number; until: number }
    | undefined;
  next: number | undefined;
  readonly attempts: Map<number, Attempt>;
}

/** Whether this step was taken before, and its reply lost. */
export function isStored({ attempts }: Lane, attempt: Attempt): boolean {
  return isDeepStrictEqual(attempts.get(attempt.accountNonce), attempt);
}

/** The lanes of a ledger in memory. */
export class MemoryLanes {
  #lanes = new Map<string, Lane>();
  #epoch = 'epoch';

  constructor(readonly now: () => number) {}

  get epoch(): string {
    return this.#epoch;
  }

  get all(): readonly (readonly [name: string, lane: Lane])[] {
    return [...this.#lanes];
  }

  /** What is there at this moment, to go back to: in another epoch. */
  snapshot(): () => void {
    const lanes = structuredClone(this.#lanes);
    return () => {
      this.#lanes = lanes;
      this.#epoch += '+';
    };
  }

  get(name: string): Lane {
    const lane = this.#lanes.get(name) ?? {
      lease: undefined,
      next: undefined,
      attempts: new Map(),
    };
    this.#lanes.set(name, lane);
    return lane;
  }

  /** One step for a lane that is held; what it throws comes as a rejection. */
  async step<T>({ lane, lease, epoch }: HeldLane, change: (lane: Lane) => T): Promise<T> {
    await Promise.resolve();
    if (epoch !== this.#epoch) throw new LedgerEpochChangedError(lane);
    const record = this.get(lane);
    const isOurs = record.lease?.text === lease && record.lease.until > this.now();
    if (!isOurs) throw new LeaseLostError(lane);
    return change(record);
  }
}
