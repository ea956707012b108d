import { LeaseLostError, LedgerEpochChangedError } from '../../../../src/protocol/errors.js';
import type { HeldLane } from '../../../../src/settlement/ledger/lane-store.js';
import type { Attempt } from '../../../../src/settlement/model/attempt.js';

interface Lane {
  lease: { readonly text: string; readonly processId: string; until: number } | undefined;
  next: number | undefined;
  readonly attempts: Map<number, Attempt>;
}

/** The lanes of a ledger in memory: who holds each, and where it stands. */
export class MemoryLanes {
  #lanes = new Map<string, Lane>();
  #leases = 0;
  #epoch = 'epoch';

  constructor(private readonly now: () => number) {}

  /** What is there at this moment, to go back to: in another epoch. */
  snapshot(): () => void {
    const lanes = structuredClone(this.#lanes);
    return () => {
      this.#lanes = lanes;
      this.#epoch += '+';
    };
  }

  acquire(lane: string, chainId: number, processId: string, leaseMs: number): HeldLane | undefined {
    const record = this.get(lane);
    const { lease } = record;
    if (lease !== undefined && lease.until > this.now() && lease.processId !== processId) {
      return undefined;
    }
    this.#leases += 1;
    const text = `${processId}:${this.#leases}`;
    record.lease = { text, processId, until: this.now() + leaseMs };
    return { lane, chainId, lease: text, epoch: this.#epoch };
  }

  renew(held: HeldLane, leaseMs: number): Promise<void> {
    return this.step(held, ({ lease }) => {
      if (lease !== undefined) lease.until = this.now() + leaseMs;
    });
  }

  release(held: HeldLane): Promise<void> {
    return this.step(held, (lane) => {
      lane.lease = undefined;
    });
  }

  orphans(chainId: number, ownLanes: readonly string[]): readonly string[] {
    const free = [...this.#lanes].filter(
      ([name, { lease, attempts }]) =>
        name.startsWith(`${chainId}:`) &&
        !ownLanes.includes(name) &&
        attempts.size > 0 &&
        (lease === undefined || lease.until <= this.now()),
    );
    return free.map(([name]) => name);
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
