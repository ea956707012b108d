import type { Address } from 'viem';
import type { Head } from '../../../platform/chain/head-watcher.js';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import type { HeldLane } from '../../ledger/lane-store.js';
import type { RefillRecord, RefillResult, RefillStore } from '../../ledger/refill-store.js';
import { type Attempt, mostCostOf, type Transfer } from '../../model/attempt.js';
import { dayOf, feesFor, gweiOf, WEI_PER_GWEI } from '../../model/gas-price.js';
import type { LaneCondition } from '../../model/lane-status.js';
import {
  type LaneLevel,
  lowLanes,
  refillFor,
  type RefillRules,
  type TreasuryStatus,
} from '../../model/refill.js';
import { ReopenLane } from '../lane-errors.js';
import type {
  FeeMarkets,
  GasEstimates,
  LaneChain,
  LaneHeads,
  Sending,
  TransactionSigner,
} from '../ports.js';
import { type Broadcaster, FUND_GAS } from '../sending/broadcaster.js';
import type { LaneReadiness } from '../sending/lane-readiness.js';
import type { LaneState } from '../state/lane-state.js';

/** An account, and the treasury's own, both at one block. */
export interface AccountLook {
  readonly balanceWei: bigint;
  /** Account nonces of the treasury below this are used. */
  readonly usedNonces: number;
}

/** The parts that make a lane the treasury of its chain. */
export interface Treasury {
  readonly rules: RefillRules;
  readonly store: RefillStore;
  /** The last statuses of the deployment's lanes. @throws RedisUnavailableError */
  readonly levels: () => Promise<readonly LaneLevel[]>;
  /** @throws ChainUnavailableError */
  readonly look: (address: Address) => Promise<AccountLook>;
}

interface RefillSendingOptions {
  readonly treasury: Treasury;
  readonly lane: string;
  readonly chain: Pick<LaneChain, 'chainId' | 'hasCode'>;
  readonly heads: LaneHeads;
  readonly state: LaneState;
  readonly readiness: LaneReadiness;
  readonly broadcaster: Broadcaster;
  /** `undefined` where this process has no key of the treasury: it only follows it then. */
  readonly signer: TransactionSigner | undefined;
  readonly fees: FeeMarkets;
  readonly gasEstimates: Pick<GasEstimates, 'typical'>;
  readonly clock: Clock;
}

/** How often lanes are looked at. */
const LOOK_MS = 2000;
const NOTHING_SPENT: RefillRecord = { spentGwei: 0n, last: undefined };

/**
 * Sends for a treasury: native coins to the lane that needs them most, one transfer at a time, until it is final. A
 * sent transfer is followed like every attempt of a lane.
 */
export class RefillSending implements Sending {
  /** The follower of the sent attempts waits for blocks. */
  readonly isWaiting = false;
  #lookAt = Number.NEGATIVE_INFINITY;
  #book = NOTHING_SPENT;
  #condition: LaneCondition | undefined;

  constructor(private readonly options: RefillSendingOptions) {}

  /** Why it could not refill a lane at its last look, besides the conditions of every lane. */
  get condition(): LaneCondition | undefined {
    return this.#condition;
  }

  get status(): TreasuryStatus {
    const { spentGwei, last } = this.#book;
    return {
      dailyCapWei: this.options.treasury.rules.dailyCapWei.toString(),
      spentTodayWei: (spentGwei * WEI_PER_GWEI).toString(),
      ...(last !== undefined && { lastRefill: last }),
    };
  }

  reset(): void {
    this.options.readiness.reset();
    this.#lookAt = Number.NEGATIVE_INFINITY;
  }

  /** @throws ReopenLane, LeaseLostError, RedisUnavailableError. */
  async sendReady(held: HeldLane, isGoing: () => boolean): Promise<void> {
    const { clock, treasury, readiness, state } = this.options;
    if (clock.steady() < this.#lookAt) return;
    this.#lookAt = clock.steady() + LOOK_MS;
    this.#book = await treasury.store.refillRecord(held, this.#today);
    if (!(await readiness.isReady())) return;
    try {
      // Until the previous refill is final its cost is unknown, and the chain may still drop it.
      if (!state.hasAttempts && isGoing()) this.#condition = await this.#refillOne(held);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      readiness.rest('chain_unavailable');
    }
  }

  get #today(): string {
    return dayOf(this.options.clock.now());
  }

  /** @returns what keeps it from refilling a lane. @throws ChainUnavailableError */
  async #refillOne(held: HeldLane): Promise<LaneCondition | undefined> {
    const { treasury, chain, heads, readiness, gasEstimates } = this.options;
    const { rules } = treasury;
    const head = heads.current;
    if (head === undefined) throw new ReopenLane('no head');
    const settlementWei = readiness.costOf(gasEstimates.typical);
    const gasWei = readiness.costOf(FUND_GAS);
    const low = lowLanes(chain.chainId, await treasury.levels(), rules);
    for (const { address: to, mark } of low) {
      const { balanceWei, usedNonces } = await treasury.look(to);
      // A node without the previous refill would show the lane's old balance.
      if (usedNonces < this.options.state.next) return undefined;
      const valueWei = refillFor(balanceWei, settlementWei, mark, rules);
      // A transfer runs the code of its receiver, and has no gas for that.
      if (valueWei === undefined || (await chain.hasCode(to))) continue;
      if (!readiness.canSpend(valueWei + gasWei)) return 'no_gas';
      return this.#send(held, { to, valueWei }, head);
    }
    // A treasury that could not fill an empty lane is reported before a lane is empty.
    const full = settlementWei * BigInt(rules.refillTo) + gasWei;
    return readiness.canSpend(full) ? undefined : 'no_gas';
  }

  async #send(held: HeldLane, refill: Transfer, head: Head): Promise<LaneCondition | undefined> {
    const { heads, state, broadcaster } = this.options;
    const attempt = await this.#sign(refill, head);
    if (typeof attempt === 'string') return attempt;
    const stored = await this.#store(held, attempt);
    switch (stored.kind) {
      case 'ok':
        state.allocated(broadcaster.follow(held, attempt, head));
        state.changed.notify();
        heads.look();
        return undefined;
      case 'nonce':
      case 'in_flight':
        throw new ReopenLane('the ledger has another next nonce for the lane');
      case 'paused':
        return undefined;
      case 'budget':
        return 'budget_exhausted';
    }
  }

  async #sign(refill: Transfer, head: Head): Promise<Attempt | LaneCondition> {
    const { signer, fees: markets, state } = this.options;
    const fees = feesFor(await markets.market(head));
    if (fees === undefined) return 'gas_price_cap';
    const call = { to: refill.to, data: '0x' } as const;
    const order = { call, valueWei: refill.valueWei, accountNonce: state.next, gas: FUND_GAS };
    const signed = await signer?.sign({ ...order, fees, isNoop: false });
    // A transfer above the budget of the day is not signed at all.
    if (signed === undefined)
      return signer?.isAvailable === true ? 'budget_exhausted' : 'signer_unavailable';
    return {
      accountNonce: state.next,
      kind: 'refill',
      settlementIds: [],
      refill,
      transactions: [signed],
      allocatedAtBlock: head.latest.number,
    };
  }

  #store(held: HeldLane, attempt: Attempt): Promise<RefillResult> {
    const { store, rules } = this.options.treasury;
    return store.refill(held, attempt, {
      costGwei: gweiOf(mostCostOf(attempt)),
      laneGwei: rules.dailyCapWei / WEI_PER_GWEI,
      day: this.#today,
    });
  }
}
