import type { EvmChain } from '../chain/evm-chain.js';
import type { Head } from '../chain/head-watcher.js';
import type { SendResult } from '../chain/rpc/rpc-classes.js';
import { aggregateCall, type Call } from '../core/exact/calls.js';
import { callOf } from '../core/settlement/accepted-payment.js';
import {
  type Attempt,
  newestTransactionOf,
  type SentTransaction,
} from '../core/settlement/attempt.js';
import { bumpedFees, feesFor, type Fees, WEI_PER_GWEI } from '../core/settlement/gas-price.js';
import type {
  AllocateResult,
  HeldLane,
  LaneLedger,
  TakenSettlement,
} from '../ledger/lane-ledger.js';
import type { FeeOracle } from './fee-oracle.js';
import type { LaneObserver } from './lane-observer.js';
import type { LaneSigner } from './lane-signer.js';
import type { SendGroup } from './rechecker.js';
import { TrackedAttempt } from './tracked-attempt.js';

export type Sent =
  | { readonly kind: 'sent'; readonly tracked: TrackedAttempt }
  | { readonly kind: 'price_cap' }
  | Exclude<AllocateResult, { kind: 'ok' }>;

/** A transfer of nothing to oneself. */
const NOOP_GAS = 21_000n;

/** Signs, stores and sends the transactions of one lane. */
export class AttemptSender {
  constructor(
    private readonly chain: EvmChain,
    private readonly ledger: LaneLedger,
    private readonly signer: LaneSigner,
    private readonly fees: FeeOracle,
    private readonly observer: LaneObserver,
  ) {}

  /**
   * Sends settlements with the next account nonce of the lane. The bytes are stored with the nonce
   * before anything leaves this process; what the nodes answer decides nothing.
   *
   * @param blockNumber - a block in which none of the authorizations was used.
   * @throws LeaseLostError, LedgerUnavailableError: whether the nonce is allocated is then in the
   *   ledger.
   */
  async send(
    held: HeldLane,
    accountNonce: number,
    group: SendGroup<TakenSettlement>,
    head: Head,
    blockNumber: bigint,
  ): Promise<Sent> {
    const fees = feesFor(await this.fees.market(head));
    if (fees === undefined) return { kind: 'price_cap' };
    const transaction = this.signer.sign(this.#callOf(group.items), accountNonce, group.gas, fees);
    const attempt: Attempt = {
      accountNonce,
      kind: group.items.length > 1 ? 'batch' : 'single',
      settlementIds: group.items.map(({ id }) => id),
      transactions: [transaction],
      allocatedAtBlock: blockNumber,
    };
    const payments = new Map(group.items.map(({ id, payment }) => [id, payment]));
    return this.#allocateAndSend(held, attempt, payments, head);
  }

  /**
   * Uses an account nonce up that was allocated, of which nothing is stored, and which the chain has
   * not seen used: it would hold up those above it.
   */
  async fillGap(
    held: HeldLane,
    accountNonce: number,
    head: Head,
  ): Promise<TrackedAttempt | undefined> {
    const fees = feesFor(await this.fees.market(head));
    if (fees === undefined) return undefined;
    const attempt: Attempt = {
      accountNonce,
      kind: 'noop',
      settlementIds: [],
      transactions: [this.signer.sign(this.signer.noop, accountNonce, NOOP_GAS, fees)],
      allocatedAtBlock: head.latest.number,
    };
    if (!(await this.ledger.fillGap(held, attempt))) return undefined;
    const tracked = new TrackedAttempt(attempt, new Map(), head.latest.number);
    void this.broadcast(tracked);
    this.observer.sent(held.lane, attempt);
    return tracked;
  }

  async #allocateAndSend(
    held: HeldLane,
    attempt: Attempt,
    payments: TrackedAttempt['payments'],
    head: Head,
  ): Promise<Sent> {
    const { dailyGasBudgetWei, dailyPayeeGasBudgetWei } = this.chain.config;
    const { gas, maxFeePerGas } = newestTransactionOf(attempt);
    const allocated = await this.ledger.allocate(
      held,
      attempt,
      {
        costGwei: (gas * maxFeePerGas) / WEI_PER_GWEI + 1n,
        laneGwei: dailyGasBudgetWei === undefined ? undefined : dailyGasBudgetWei / WEI_PER_GWEI,
        payeeGwei:
          dailyPayeeGasBudgetWei === undefined ? undefined : dailyPayeeGasBudgetWei / WEI_PER_GWEI,
      },
      new Date().toISOString().slice(0, 10),
    );
    if (allocated.kind !== 'ok') return allocated;
    const tracked = new TrackedAttempt(attempt, payments, head.latest.number);
    void this.broadcast(tracked);
    this.observer.sent(held.lane, attempt);
    return { kind: 'sent', tracked };
  }

  /** Sends the newest bytes of an attempt to every endpoint; any number of times. */
  async broadcast(tracked: TrackedAttempt): Promise<void> {
    const results = await this.chain.broadcast(newestTransactionOf(tracked.attempt).raw);
    if (isRefusedByAll(results)) tracked.needsNewBytes = true;
    if (results.some(({ kind }) => kind === 'nonce_too_low')) tracked.isSaidUsed = true;
    this.observer.broadcast(tracked.attempt, results);
  }

  /**
   * Replaces an attempt by one that offers an eighth more, at the same account nonce: the same
   * settlements as long as any of them is live, else nothing.
   *
   * @returns whether there was room under the cap.
   */
  async bump(held: HeldLane, tracked: TrackedAttempt, head: Head): Promise<boolean> {
    const previous = newestTransactionOf(tracked.attempt);
    const fees = bumpedFees(previous, await this.fees.market(head));
    if (fees === undefined) return false;
    const transaction = this.#resign(tracked, previous, fees);
    const attempt: Attempt = {
      ...tracked.attempt,
      transactions: [...tracked.attempt.transactions, transaction],
    };
    await this.ledger.replace(held, attempt);
    tracked.attempt = attempt;
    tracked.pricedAtBlock = head.latest.number;
    tracked.sentAtBlock = head.latest.number;
    tracked.needsNewBytes = false;
    this.observer.bumped(held.lane, attempt);
    await this.broadcast(tracked);
    return true;
  }

  /** The same calls as before, so that whichever of the transactions lands pays the same. */
  #resign(tracked: TrackedAttempt, previous: SentTransaction, fees: Fees): SentTransaction {
    const { attempt } = tracked;
    const live = attempt.settlementIds.flatMap((id) => {
      const payment = tracked.payments.get(id);
      return payment === undefined ? [] : [{ id, payment }];
    });
    if (live.length === 0) {
      return this.signer.sign(this.signer.noop, attempt.accountNonce, NOOP_GAS, fees);
    }
    const call =
      attempt.kind === 'batch'
        ? aggregateCall(live.map(({ payment }) => callOf(payment, this.chain.permit2Proxy)))
        : this.#callOf(live);
    return this.signer.sign(call, attempt.accountNonce, previous.gas, fees);
  }

  #callOf(items: readonly Pick<TakenSettlement, 'payment'>[]): Call {
    const calls = items.map(({ payment }) => callOf(payment, this.chain.permit2Proxy));
    const [only] = calls;
    return calls.length === 1 && only !== undefined ? only : aggregateCall(calls);
  }
}

/** No node has it, and every node said why: the same bytes will not be taken by them later either. */
function isRefusedByAll(results: readonly SendResult[]): boolean {
  return (
    results.length > 0 && results.every(({ kind }) => kind === 'underpriced' || kind === 'rejected')
  );
}
