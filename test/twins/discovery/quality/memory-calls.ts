import type { Address } from 'viem';
import { entryIdOf } from '../../../../src/discovery/postgres/entry-rows.js';
import {
  type CallReader,
  CALLS_MAX,
  type CallWriter,
  type DeclaredCall,
  type DueEntry,
  OTHER_PAYEES_MAX,
  OTHER_PAYERS_MIN,
  PAUSE_MS,
  type Rating,
  YOUNG_MS,
} from '../../../../src/discovery/quality/call-store.js';
import type { OtherPayees } from '../../../../src/discovery/quality/quality.js';
import type { MemoryCatalogue } from '../memory-catalogue.js';

/** A settlement as the history has it. */
export interface MadeSettlement {
  readonly id: string;
  readonly payer: Address;
  readonly payTo: Address;
  readonly state: 'queued' | 'included' | 'finalized' | 'reverted' | 'expired' | 'withdrawn';
  readonly claimedAt: number;
}

/** From claim to block, of those that are paid. */
export const SETTLE_MS = 500;

/** Calls in memory, which keep the contract of those in PostgreSQL. */
export class MemoryCalls implements CallWriter, CallReader {
  readonly settlements = new Map<string, MadeSettlement>();
  readonly #entryOf = new Map<string, string>();
  readonly #dueAt = new Map<string, number>();
  readonly #ratedAt = new Map<string, number>();

  constructor(private readonly catalogue: MemoryCatalogue) {}

  link(chainId: number, calls: readonly DeclaredCall[], now: Date): Promise<void> {
    for (const { settlementId, listing } of calls) {
      const made = this.settlements.get(settlementId);
      if (made === undefined) continue;
      const id = entryIdOf({ chainId, payTo: made.payTo }, listing).toString('hex');
      if (this.catalogue.payTo(id) === undefined) continue;
      if (!this.#entryOf.has(settlementId)) this.#entryOf.set(settlementId, id);
      const soon = Math.max(now.getTime(), (this.#ratedAt.get(id) ?? 0) + PAUSE_MS);
      this.#dueAt.set(id, Math.min(this.#dueAt.get(id) ?? Infinity, soon));
    }
    return Promise.resolve();
  }

  takeDue(now: Date, until: Date, most: number): Promise<readonly DueEntry[]> {
    const due = [...this.#dueAt]
      .filter(([, at]) => at <= now.getTime())
      .sort(([, a], [, b]) => a - b)
      .slice(0, most);
    for (const [id] of due) this.#dueAt.set(id, until.getTime());
    return Promise.resolve(
      due.flatMap(([id]) => {
        const payTo = this.catalogue.payTo(id);
        return payTo === undefined ? [] : [{ id, payTo }];
      }),
    );
  }

  calls({ id }: DueEntry, since: Date, now: Date): ReturnType<CallReader['calls']> {
    const made = this.#linked(since)
      .filter((one) => this.#entryOf.get(one.id) === id)
      .slice(0, CALLS_MAX);
    const calls = made
      .filter(({ state }) => state !== 'queued' && state !== 'withdrawn')
      .map((one) => ({
        payer: one.payer,
        isPaid: isPaid(one),
        claimedAt: new Date(one.claimedAt),
        includedAt: isPaid(one) ? new Date(one.claimedAt + SETTLE_MS) : undefined,
      }));
    const mayChange = made.some(
      ({ state, claimedAt }) =>
        (state === 'queued' || state === 'included') && claimedAt > now.getTime() - YOUNG_MS,
    );
    return Promise.resolve({ calls, mayChange });
  }

  paidBy(payers: readonly Address[], since: Date): Promise<readonly Address[]> {
    const paid = [...this.settlements.values()].filter(
      (one) => isPaid(one) && one.claimedAt >= since.getTime() && payers.includes(one.payer),
    );
    return Promise.resolve([...new Set(paid.map(({ payTo }) => payTo))]);
  }

  otherPayees(
    payers: readonly Address[],
    circle: readonly Address[],
    all: readonly Address[],
    since: Date,
  ): Promise<OtherPayees> {
    const bought = this.#linked(since).filter(isPaid);
    const inside = new Set([...circle, ...all]);
    const isKnown = (payee: Address): boolean => {
      const buyers = bought.filter(({ payTo }) => payTo === payee).map(({ payer }) => payer);
      const outside = buyers.filter((payer) => !inside.has(payer) && payer !== payee);
      return new Set(outside).size >= OTHER_PAYERS_MIN;
    };
    const found = payers.map((payer) => {
      const payees = bought
        .filter((one) => one.payer === payer && one.payTo !== payer && !circle.includes(one.payTo))
        .map(({ payTo }) => payTo);
      const newest = [...new Set(payees)].slice(0, OTHER_PAYEES_MAX).filter(isKnown);
      return [payer, newest] as const;
    });
    return Promise.resolve(new Map(found.filter(([, payees]) => payees.length > 0)));
  }

  rate({ id }: DueEntry, { quality, ratedAt, takenUntil, dueAt }: Rating): Promise<void> {
    this.catalogue.ratings.set(id, quality);
    this.#ratedAt.set(id, ratedAt.getTime());
    if (this.#dueAt.get(id) === takenUntil.getTime()) {
      this.#dueAt.set(id, dueAt?.getTime() ?? Infinity);
    }
    return Promise.resolve();
  }

  /** Newest first. */
  #linked(since: Date): MadeSettlement[] {
    return [...this.settlements.values()]
      .filter(({ id, claimedAt }) => this.#entryOf.has(id) && claimedAt >= since.getTime())
      .sort((a, b) => b.claimedAt - a.claimedAt);
  }
}

const isPaid = ({ state }: MadeSettlement): boolean =>
  state === 'included' || state === 'finalized';
