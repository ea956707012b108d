import type { Address } from 'viem';
import { LeaseLostError } from '../../../../src/protocol/errors.js';
import { chargedTo } from '../../../../src/protocol/payment/payment-facts.js';
import type {
  AllocateResult,
  FillResult,
  FundResult,
  GasBudget,
  HeldLane,
  InclusionBlock,
  LaneAttempts,
  PaidItem,
  ReplaceResult,
} from '../../../../src/settlement/ledger/lane-store.js';
import type { Attempt, KnownFunding } from '../../../../src/settlement/model/attempt.js';
import type { MemoryClaims } from './memory-claims.js';
import type { MemoryGas } from './memory-gas.js';
import { isStored, type MemoryLanes } from './memory-lanes.js';

interface MemoryParts {
  readonly lanes: MemoryLanes;
  readonly claims: MemoryClaims;
  readonly gas: MemoryGas;
  /** Lanes that are paused. */
  readonly paused: ReadonlySet<string>;
}

/** {@link LaneAttempts} in memory. */
export class MemoryAttempts implements LaneAttempts {
  /** By chain and payer. */
  #funded = new Map<string, KnownFunding>();

  constructor(private readonly parts: MemoryParts) {}

  allocate(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<AllocateResult> {
    return this.parts.lanes.step(held, (lane): AllocateResult => {
      if (isStored(lane, attempt)) return { kind: 'ok' };
      if (this.parts.paused.has(held.lane)) return { kind: 'paused' };
      if (lane.next !== attempt.accountNonce) return { kind: 'nonce' };
      const claims = this.parts.claims.inWork(held.lane, attempt.settlementIds);
      if (claims.length < attempt.settlementIds.length) {
        const there = claims.map(({ id }) => id);
        return { kind: 'gone', ids: attempt.settlementIds.filter((id) => !there.includes(id)) };
      }
      const over = this.parts.gas.charge(held, attempt, budget);
      if (over !== undefined) return over;
      lane.next = attempt.accountNonce + 1;
      lane.attempts.set(attempt.accountNonce, attempt);
      for (const claim of claims) {
        this.parts.claims.move(claim, 'allocated');
        this.parts.claims.bind(claim, held.lane, attempt);
      }
      return { kind: 'ok' };
    });
  }

  fund(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FundResult> {
    const { accountNonce, funding } = attempt;
    if (funding === undefined) throw new TypeError('a funding attempt has no payer');
    const { payer, payerNonce, settlementId } = funding;
    return this.parts.lanes.step(held, (lane): FundResult => {
      if (isStored(lane, attempt)) return { kind: 'ok' };
      if (this.parts.paused.has(held.lane)) return { kind: 'paused' };
      if (lane.next !== accountNonce) return { kind: 'nonce' };
      const [claim] = this.parts.claims.inWork(held.lane, [settlementId]);
      if (claim === undefined) return { kind: 'gone', ids: [settlementId] };
      const known = this.#fundingOf(held.chainId, payer);
      if (known !== undefined && known.payerNonce >= payerNonce) return { kind: 'funded' };
      const over = this.parts.gas.overPayee(held, chargedTo(claim.payment), budget);
      if (over !== undefined) return over;
      const full = this.parts.gas.charge(held, attempt, budget);
      if (full !== undefined) return full;
      this.parts.gas.chargeLater(settlementId, budget);
      this.parts.claims.sponsor(claim, 'funded');
      lane.next = accountNonce + 1;
      lane.attempts.set(accountNonce, attempt);
      this.#funded.set(`${held.chainId}:${payer}`, { payerNonce, isDone: false });
      return { kind: 'ok' };
    });
  }

  fundingOf(chainId: number, payer: Address): Promise<KnownFunding | undefined> {
    return Promise.resolve(this.#fundingOf(chainId, payer));
  }

  #fundingOf(chainId: number, payer: Address): KnownFunding | undefined {
    return this.#funded.get(`${chainId}:${payer}`);
  }

  /** A funding that was sent is noted again in a ledger that went back. */
  restoreFunding({ chainId }: HeldLane, { funding }: Attempt): void {
    if (funding === undefined) return;
    const { payer, payerNonce } = funding;
    const known = this.#fundingOf(chainId, payer);
    if (known !== undefined && known.payerNonce >= payerNonce) return;
    this.#funded.set(`${chainId}:${payer}`, { payerNonce, isDone: false });
  }

  snapshot(): () => void {
    const copy = new Map(this.#funded);
    return () => {
      this.#funded = copy;
    };
  }

  replace(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<ReplaceResult> {
    const { accountNonce, settlementIds } = attempt;
    return this.parts.lanes.step(held, (lane): ReplaceResult => {
      if (!lane.attempts.has(accountNonce)) throw new LeaseLostError(held.lane);
      const over = this.parts.gas.charge(held, attempt, budget);
      if (over !== undefined) return over;
      lane.attempts.set(accountNonce, attempt);
      for (const claim of this.parts.claims.bound(held.lane, accountNonce, settlementIds)) {
        if (this.parts.claims.move(claim, 'replaced'))
          this.parts.claims.bind(claim, held.lane, attempt);
      }
      return { kind: 'ok' };
    });
  }

  fillGap(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FillResult> {
    const { accountNonce } = attempt;
    return this.parts.lanes.step(held, (lane) => {
      const { next = 0, attempts } = lane;
      if (isStored(lane, attempt)) return { kind: 'ok' };
      if (accountNonce >= next || attempts.has(accountNonce)) return { kind: 'lost' };
      const over = this.parts.gas.charge(held, attempt, budget);
      if (over !== undefined) return over;
      attempts.set(accountNonce, attempt);
      return { kind: 'ok' };
    });
  }

  closeAttempt(held: HeldLane, accountNonce: number, costWei: bigint): Promise<void> {
    return this.parts.lanes.step(held, ({ attempts }) => {
      const { funding } = attempts.get(accountNonce) ?? {};
      const key = `${held.chainId}:${funding?.payer ?? ''}`;
      const known = this.#funded.get(key);
      if (known !== undefined && known.payerNonce === funding?.payerNonce) {
        this.#funded.set(key, { ...known, isDone: true });
      }
      attempts.delete(accountNonce);
      if (funding !== undefined) this.parts.gas.correctLater(funding.settlementId, costWei);
      this.parts.gas.close(held, accountNonce, costWei);
    });
  }

  include(
    held: HeldLane,
    accountNonce: number,
    { transaction, number, hash }: InclusionBlock,
    _: number,
    items: readonly PaidItem[],
  ): Promise<void> {
    return this.parts.lanes.step(held, () => {
      for (const { id, logIndex } of items) {
        const [claim] = this.parts.claims.bound(held.lane, accountNonce, [id]);
        if (claim === undefined || !this.parts.claims.move(claim, 'included')) continue;
        claim.inclusion = { transaction, blockNumber: number, blockHash: hash, logIndex };
        claim.wasIncluded = true;
      }
    });
  }

  uninclude(held: HeldLane, accountNonce: number, ids: readonly string[]): Promise<void> {
    return this.parts.lanes.step(held, () => {
      for (const claim of this.parts.claims.bound(held.lane, accountNonce, ids)) {
        if (this.parts.claims.move(claim, 'block_replaced')) claim.inclusion = undefined;
      }
    });
  }
}
