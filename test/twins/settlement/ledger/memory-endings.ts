import type { Hex } from 'viem';
import type {
  Ending,
  FinishResult,
  HeldLane,
  LaneEndings,
  ParkedSettlement,
  Parking,
  Unparking,
} from '../../../../src/settlement/ledger/lane-store.js';
import { isFinishedStage } from '../finished-stage.js';
import type { Claim, MemoryClaims } from './memory-claims.js';
import type { MemoryGas } from './memory-gas.js';
import type { MemoryLanes } from './memory-lanes.js';

interface MemoryParts {
  readonly now: () => number;
  readonly lanes: MemoryLanes;
  readonly claims: MemoryClaims;
  readonly gas: MemoryGas;
  readonly blame: (blamed: string) => void;
}

const PARKED_IS_MINE_MS = 30_000;

/** {@link LaneEndings} in memory. */
export class MemoryEndings implements LaneEndings {
  readonly #credits = new Map<string, string>();

  constructor(private readonly parts: MemoryParts) {}

  finish(
    held: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<FinishResult> {
    return this.parts.lanes.step(held, () => {
      const resubmitted = endings.flatMap((ending) => {
        const claim = this.#ownClaim(held, accountNonce, ending.id);
        if (claim !== undefined && ending.isPaid) this.parts.gas.chargePayee(held, claim);
        if (claim !== undefined) this.parts.claims.end(claim, ending);
        return this.#isUnfinished(ending.id) ? [ending.id] : [];
      });
      return { resubmitted };
    });
  }

  requeue(
    held: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void> {
    return this.parts.lanes.step(held, () => {
      for (const claim of this.parts.claims.bound(held.lane, accountNonce, ids)) {
        if (!this.parts.claims.move(claim, 'finalized_unpaid_requeue')) continue;
        claim.sinceBlock ??= sinceBlock;
        this.parts.claims.unbind(claim);
      }
    });
  }

  park(
    held: HeldLane,
    accountNonce: number | undefined,
    sinceBlock: bigint,
    parkings: readonly Parking[],
  ): Promise<void> {
    return this.parts.lanes.step(held, () => {
      for (const { id, why, retryAtMs, failed } of parkings) {
        const claim = this.#ownClaim(held, accountNonce, id);
        if (claim === undefined || !this.parts.claims.move(claim, 'parked')) continue;
        claim.sinceBlock ??= sinceBlock;
        claim.why = why;
        claim.failed = failed;
        claim.dueAt = retryAtMs;
        this.parts.claims.unbind(claim);
      }
    });
  }

  dueParked(chainId: number, most: number): Promise<readonly ParkedSettlement[]> {
    const { claims, now } = this.parts;
    const due = claims.of(chainId, 'parked').filter(({ dueAt }) => dueAt <= now());
    const parked = due.slice(0, most).map((claim) => {
      claim.dueAt = now() + PARKED_IS_MINE_MS;
      const { id, payment, why = 'search_failed', parkTries: tries, failed } = claim;
      const { hashes, sinceBlock = 0n } = claim;
      const sentBefore = { sinceBlock, hashes, ...(failed && { failed }) };
      return { id, payment, why, tries, sentBefore };
    });
    return Promise.resolve(parked);
  }

  parkedCount(chainId: number): Promise<number> {
    return Promise.resolve(this.parts.claims.of(chainId, 'parked').length);
  }

  unpark(_: number, unparkings: readonly Unparking[]): Promise<FinishResult> {
    const { claims } = this.parts;
    const resubmitted = unparkings.flatMap((unparking) => {
      const id = unparking.kind === 'ended' ? unparking.ending.id : unparking.id;
      const claim = claims.get(id);
      if (unparking.kind === 'ended') {
        if (claim?.stage === 'parked') claims.end(claim, unparking.ending);
        return this.#isUnfinished(id) ? [id] : [];
      }
      if (claim?.stage !== 'parked') return [];
      if (unparking.kind === 'requeue') claims.move(claim, 'unparked');
      else {
        claim.dueAt = unparking.retryAtMs;
        claim.parkTries += 1;
      }
      return [];
    });
    return Promise.resolve({ resubmitted });
  }

  credit(chainId: number, transaction: Hex, logIndex: number, id: string): Promise<boolean> {
    const key = `${chainId}:${transaction}:${logIndex}`;
    const credited = this.#credits.get(key) ?? id;
    this.#credits.set(key, credited);
    return Promise.resolve(credited === id);
  }

  noteRevert(_: number, blamed: readonly string[]): Promise<void> {
    for (const one of blamed) this.parts.blame(one);
    return Promise.resolve();
  }

  #isUnfinished(id: string): boolean {
    const claim = this.parts.claims.get(id);
    return claim !== undefined && !isFinishedStage(claim.stage);
  }

  #ownClaim(held: HeldLane, accountNonce: number | undefined, id: string): Claim | undefined {
    const [claim] =
      accountNonce === undefined
        ? this.parts.claims.inWork(held.lane, [id])
        : this.parts.claims.bound(held.lane, accountNonce, [id]);
    return claim;
  }
}
