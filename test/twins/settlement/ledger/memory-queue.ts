import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';
import {
  boundedDeadlineOf,
  inFlightKindOf,
  soleSenderOf,
} from '../../../../src/protocol/payment/payment-facts.js';
import type {
  HeldLane,
  LaneQueue,
  Refusal,
  SweepResult,
  TakenSettlement,
} from '../../../../src/settlement/ledger/lane-store.js';
import {
  ALL_PLACES,
  isBlameless,
  mayHavePlace,
  type PlacesInUse,
} from '../../../../src/settlement/model/sponsoring-machine.js';
import { isFinishedStage } from '../finished-stage.js';
import type { Claim, MemoryClaims } from './memory-claims.js';
import type { MemoryLanes } from './memory-lanes.js';

interface MemoryParts {
  readonly now: () => number;
  readonly lanes: MemoryLanes;
  readonly claims: MemoryClaims;
  /** Lanes that are paused. */
  readonly paused: ReadonlySet<string>;
  readonly retiring: ReadonlySet<string>;
}

/** {@link LaneQueue} in memory. */
export class MemoryQueue implements LaneQueue {
  constructor(private readonly parts: MemoryParts) {}

  paymentsOf(_: number, ids: readonly string[]): Promise<ReadonlyMap<string, AcceptedPayment>> {
    const live = ids.flatMap((id) => {
      const claim = this.parts.claims.get(id);
      return claim && !isFinishedStage(claim.stage) ? [[id, claim.payment] as const] : [];
    });
    return Promise.resolve(new Map(live));
  }

  finishedOf(_: number, ids: readonly string[]): Promise<readonly string[]> {
    const finished = ids.filter((id) => {
      const claim = this.parts.claims.get(id);
      return claim === undefined || isFinishedStage(claim.stage);
    });
    return Promise.resolve(finished);
  }

  ready(_: number, ids: readonly string[]): Promise<number> {
    const { claims } = this.parts;
    const moved = ids.filter((id) => {
      const claim = claims.get(id);
      return claim !== undefined && claims.move(claim, 'job_seen');
    });
    return Promise.resolve(moved.length);
  }

  overdue(chainId: number, ageMs: number, most: number): Promise<readonly string[]> {
    const { claims, now } = this.parts;
    const due = claims.of(chainId, 'pending').filter(({ claimedAt }) => claimedAt <= now() - ageMs);
    return Promise.resolve(due.slice(0, most).map(({ id }) => id));
  }

  sweep(chainId: number, most: number): Promise<SweepResult> {
    const { claims, now } = this.parts;
    const due = claims.of(chainId, 'later').filter(({ dueAt }) => dueAt <= now());
    const expired: string[] = [];
    let ready = 0;
    for (const claim of due.slice(0, most)) if (claims.move(claim, 'due')) ready += 1;
    for (const claim of claims.all.slice(0, most)) {
      const isQueued = ['pending', 'ready', 'later'].includes(claim.stage);
      if (!isQueued || boundedDeadlineOf(claim.payment) * 1000 > now()) continue;
      if (claims.move(claim, 'expired')) expired.push(claim.id);
    }
    return Promise.resolve({ ready, expired });
  }

  take(
    held: HeldLane,
    most: number,
    isRetiring = false,
    places: PlacesInUse = ALL_PLACES,
  ): Promise<TakenSettlement[]> {
    const { lanes, paused, retiring } = this.parts;
    return lanes.step(held, () =>
      paused.has(held.lane)
        ? []
        : this.#take(held, most, isRetiring || retiring.has(held.lane), places),
    );
  }

  giveBack(held: HeldLane, ids: readonly string[], delayMs?: number): Promise<void> {
    return this.#stepInWork(held, ids, (claim) => {
      this.parts.claims.move(claim, delayMs === undefined ? 'given_back' : 'postponed');
      if (delayMs !== undefined) claim.dueAt = this.parts.now() + delayMs;
    });
  }

  postpone(held: HeldLane, ids: readonly string[], delayMs: number): Promise<void> {
    return this.#stepInWork(held, ids, (claim) => {
      this.parts.claims.move(claim, 'postponed');
      claim.tries += 1;
      claim.dueAt = this.parts.now() + delayMs;
    });
  }

  refuse(held: HeldLane, refusals: readonly Refusal[]): Promise<void> {
    const { claims } = this.parts;
    const reasons = new Map(refusals.map(({ id, reason }) => [id, reason]));
    return this.#stepInWork(held, [...reasons.keys()], (claim) => {
      const reason = reasons.get(claim.id);
      claim.reason = reason;
      const isUntried = reason !== undefined && isBlameless(reason);
      if (claim.isAcknowledged && isUntried) claims.putOff(claim);
      else if (claim.isResubmitted && !claims.isGivenUp(claim)) claims.collect(claim);
      else claims.move(claim, claim.hashes.length === 0 ? 'refused' : UNPAID);
    });
  }

  #take(
    { chainId, lane }: HeldLane,
    most: number,
    isRetiring: boolean,
    places: PlacesInUse,
  ): TakenSettlement[] {
    const { claims } = this.parts;
    const held = new Map(places.held);
    let { free } = places;
    const taken = claims
      .of(chainId, 'ready')
      .filter(({ payment }) => {
        const sender = soleSenderOf(payment);
        return sender === undefined ? !isRetiring : lane === `${chainId}:${sender}`;
      })
      .filter(({ payment, hashes }) => {
        if (inFlightKindOf(payment) !== 'a' || hashes.length > 0) return true;
        const own = held.get(payment.asset) ?? 0;
        if (!mayHavePlace(own, free)) return false;
        held.set(payment.asset, own + 1);
        free -= 1;
        return true;
      });
    return taken.slice(0, most).map((claim) => {
      claims.move(claim, 'taken');
      claim.lane = lane;
      const { id, payment, tries, isResubmitted, hashes, sinceBlock } = claim;
      return {
        id,
        payment,
        tries,
        isResubmitted,
        goesAlone: sinceBlock !== undefined,
        ...(sinceBlock !== undefined && { sentBefore: { sinceBlock, hashes: [...hashes] } }),
      };
    });
  }

  #stepInWork(
    held: HeldLane,
    ids: readonly string[],
    change: (claim: Claim) => unknown,
  ): Promise<void> {
    const { lanes, claims } = this.parts;
    return lanes.step(held, () => {
      for (const claim of claims.inWork(held.lane, ids)) change(claim);
    });
  }
}

const UNPAID = 'finalized_unpaid_reverted';
