import type { Address, Hex } from 'viem';
import type { Head } from '../../../platform/chain/head-watcher.js';
import type { Clock } from '../../../platform/concurrency/clock.js';
import type { Call } from '../../../protocol/evm/calls.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import { batchCallOf, callOf } from '../../../protocol/payment/payment-facts.js';
import type {
  GasBudget,
  HeldLane,
  LaneAttempts,
  TakenSettlement,
} from '../../ledger/lane-store.js';
import {
  type Attempt,
  type Funding,
  mostCostOf,
  newestTransactionOf,
  type SignedTransaction,
  type Transfer,
  transferOf,
} from '../../model/attempt.js';
import {
  bumpedFees,
  dayOf,
  type Fees,
  feesFor,
  gweiOf,
  type UrgentMarket,
  WEI_PER_GWEI,
} from '../../model/gas-price.js';
import type { LaneObserver } from '../lane-observer.js';
import type { FeeMarkets, LaneChain, TransactionOrder, TransactionSigner } from '../ports.js';
import { TrackedAttempt } from '../state/tracked-attempt.js';
import type { SendGroup } from './preflight-result.js';
import { isTakenBy, refusalOf } from './resend-policy.js';
import type { DailyBudgets, Funded, Replaced, Sent } from './send-results.js';

interface BroadcasterOptions {
  readonly chain: LaneChain;
  readonly attempts: LaneAttempts;
  /** `undefined` where this process has no key of the lane and only follows it. */
  readonly signer: TransactionSigner | undefined;
  readonly fees: FeeMarkets;
  readonly budgets: DailyBudgets;
  /** The suffix of the calldata of a transaction with several payments. */
  readonly batchSuffix?: Hex | undefined;
  /** The lanes that a treasury refills; absent for other lanes. */
  readonly refillable?: ReadonlySet<Address> | undefined;
  readonly observer: LaneObserver;
  readonly clock: Clock;
}

/** The order to send with the next account nonce of a lane. */
interface SendOrder {
  readonly accountNonce: number;
  readonly group: SendGroup<TakenSettlement>;
  readonly head: Head;
  /** A block in which none of the authorizations was used. */
  readonly blockNumber: bigint;
}

/** A transfer of zero to itself. */
const NOOP_GAS = 21_000n;
/** A transfer of native coins to an account without code. */
export const FUND_GAS = 21_000n;

/** Signs, stores and sends the transactions of one lane. */
export class Broadcaster {
  constructor(private readonly options: BroadcasterOptions) {}

  get hasKey(): boolean {
    return this.options.signer !== undefined;
  }

  /**
   * Sends settlements with the next account nonce of the lane. The bytes are stored with the nonce before they are
   * sent, so the nodes' answers decide nothing. A signed transaction that was not stored is never sent.
   *
   * @throws LeaseLostError, RedisUnavailableError: whether the nonce is allocated is then in the
   *   ledger.
   */
  async send(held: HeldLane, order: SendOrder): Promise<Sent> {
    const { accountNonce, group, head, blockNumber } = order;
    const { attempts, signer, observer } = this.options;
    const fees = feesFor(await this.options.fees.market(head));
    if (fees === undefined || signer === undefined) return { kind: 'price_cap' };
    const { items, gas } = group;
    const kind = items.length > 1 ? 'batch' : 'single';
    const carried = items.map(({ payment }) => payment);
    const call = this.#callFor(kind, carried);
    const signed = await signer.sign({ call, accountNonce, gas, fees, isNoop: false });
    if (signed === undefined) return { kind: 'no_signature' };
    const attempt: Attempt = {
      accountNonce,
      kind,
      settlementIds: items.map(({ id }) => id),
      transactions: [signed],
      ...this.#momentOf(blockNumber),
    };
    const allocated = await attempts.allocate(held, attempt, this.#budgetFor(attempt));
    if (allocated.kind !== 'ok') return allocated;
    const payments = new Map(items.map(({ id, payment }) => [id, payment]));
    const tracked = this.#track(attempt, payments, head);
    observer.sent(held.lane, attempt);
    return { kind: 'sent', tracked };
  }

  /**
   * Sends native coins to a payer with the next account nonce of the lane, once for each transaction that
   * the payer has signed; otherwise like {@link send}.
   */
  async fund(held: HeldLane, accountNonce: number, funding: Funding, head: Head): Promise<Funded> {
    const { attempts, signer } = this.options;
    const fees = feesFor(await this.options.fees.market(head));
    if (fees === undefined || signer === undefined) return { kind: 'price_cap' };
    const { payer: to, valueWei } = funding;
    const order = { ...transferOrder({ to, valueWei }), accountNonce, fees, isNoop: false };
    const signed = await signer.sign({ ...order, gas: FUND_GAS });
    if (signed === undefined) return { kind: 'no_signature' };
    const attempt: Attempt = {
      accountNonce,
      kind: 'fund',
      settlementIds: [],
      funding,
      transactions: [signed],
      ...this.#momentOf(head.latest.number),
    };
    const stored = await attempts.fund(held, attempt, this.#budgetFor(attempt));
    if (stored.kind !== 'ok') return stored;
    return { kind: 'sent', tracked: this.follow(held, attempt, head) };
  }

  /**
   * The blocks at the allocation of a nonce. One endpoint may claim a head that is too high: a block separates the time
   * before and after the broadcast only if two endpoints have it, or if it turns out to be on the chain.
   *
   * @param simulatedAt - used while no endpoint has shown a block recently.
   */
  #momentOf(simulatedAt: bigint): Pick<Attempt, 'allocatedAtBlock' | 'newestBlock'> {
    const { agreed, newest } = this.options.chain.knownHeads;
    const allocatedAtBlock = agreed > 0n ? agreed : simulatedAt;
    if (newest === undefined || newest.number <= allocatedAtBlock) return { allocatedAtBlock };
    return { allocatedAtBlock, newestBlock: { number: newest.number, hash: newest.hash } };
  }

  /** Sends a stored attempt without settlements. */
  follow(held: HeldLane, attempt: Attempt, head: Head): TrackedAttempt {
    this.options.observer.sent(held.lane, attempt);
    return this.#track(attempt, new Map(), head);
  }

  /**
   * Uses up an allocated account nonce without a stored transaction that the chain has not used: it would block those
   * above it. It costs gas, so it waits while the lane's budget is spent.
   */
  async fillGap(
    held: HeldLane,
    accountNonce: number,
    head: Head,
  ): Promise<TrackedAttempt | undefined> {
    const { attempts, signer } = this.options;
    const fees = feesFor(await this.options.fees.market(head));
    if (fees === undefined || signer === undefined) return undefined;
    const call = signer.noop;
    const signed = await signer.sign({ call, accountNonce, gas: NOOP_GAS, fees, isNoop: true });
    if (signed === undefined) return undefined;
    const attempt: Attempt = {
      accountNonce,
      kind: 'noop',
      settlementIds: [],
      transactions: [signed],
      allocatedAtBlock: head.latest.number,
    };
    const { kind } = await attempts.fillGap(held, attempt, this.#budgetFor(attempt));
    return kind === 'ok' ? this.follow(held, attempt, head) : undefined;
  }

  #track(attempt: Attempt, payments: TrackedAttempt['payments'], head: Head): TrackedAttempt {
    const atBlock = head.latest.number;
    const nowMs = this.options.clock.now();
    const tracked = new TrackedAttempt({ attempt, payments, atBlock, nowMs });
    void this.broadcast(tracked);
    return tracked;
  }

  /** Sends the newest bytes of an attempt to every endpoint; repeatable. Never throws. */
  async broadcast(tracked: TrackedAttempt): Promise<void> {
    const { chain, observer } = this.options;
    const sent = newestTransactionOf(tracked.attempt);
    try {
      const results = await chain.broadcast(sent.raw, (result) => {
        // One endpoint's answer is enough for both flags, so a slow endpoint delays nothing.
        if (isTakenBy([result])) tracked.isTaken = true;
        if (result.kind === 'nonce_too_low') tracked.isNonceReportedUsed = true;
      });
      // A refusal counts only from all endpoints. Another transaction may have replaced it meanwhile.
      if (newestTransactionOf(tracked.attempt) === sent) tracked.refusal = refusalOf(results);
      observer.broadcast(chain.chainId, tracked.attempt, results);
    } catch (error) {
      observer.failed(`${chain.chainId}`, 'broadcast', error);
    }
  }

  /**
   * Replaces an attempt by one with an eighth more fees, at the same account nonce and with the same settlements while
   * any of them is live. If the budgets do not allow it, it is cancelled.
   */
  async bumpFees(held: HeldLane, tracked: TrackedAttempt, head: Head): Promise<Replaced> {
    const { signer } = this.options;
    if (signer === undefined) return 'no_key';
    const { attempt } = tracked;
    const call = this.#sameCalls(tracked);
    const transfer = transferOf(attempt);
    const { isNoop, gas } = newestTransactionOf(tracked.attempt);
    const same = transfer === undefined ? call && { call } : transferOrder(transfer);
    if (isNoop || same === undefined || this.#isStray(attempt))
      return this.cancel(held, tracked, head);
    const fees = this.#feesOver(tracked, await this.options.fees.urgentMarket(head));
    if (fees === undefined) return 'no_room';
    const { accountNonce } = tracked;
    const transaction = await signer.sign({ ...same, accountNonce, gas, fees, isNoop: false });
    if (transaction === undefined) return 'no_signature';
    if (await this.#storeAndSend(held, tracked, head, transaction)) return 'replaced';
    // A sent transaction may still be mined, so it stays.
    if (transfer !== undefined) return 'no_room';
    return this.cancel(held, tracked, head);
  }

  /**
   * Replaces an attempt by a no-op at the same account nonce. It costs no more than the amount reserved for the nonce,
   * so every budget allows it.
   */
  async cancel(held: HeldLane, tracked: TrackedAttempt, head: Head): Promise<Replaced> {
    const { signer } = this.options;
    if (signer === undefined) return 'no_key';
    // Waiting loses nothing, so the fee at most doubles, whatever the endpoints say.
    const { agreed } = await this.options.fees.urgentMarket(head);
    const fees = this.#feesOver(tracked, { highest: agreed });
    if (fees === undefined) return 'no_room';
    const { accountNonce } = tracked;
    const call = signer.noop;
    const noop = await signer.sign({ call, accountNonce, gas: NOOP_GAS, fees, isNoop: true });
    if (noop === undefined) return 'no_signature';
    return (await this.#storeAndSend(held, tracked, head, noop)) ? 'cancelled' : 'no_room';
  }

  /** Whether a refill goes to an address that is not a lane of this facilitator, whatever the ledger holds. */
  #isStray({ refill }: Attempt): boolean {
    return refill !== undefined && this.options.refillable?.has(refill.to) !== true;
  }

  /** A transaction that no pool ever had may be sent again with the same fee, if the cap allows no higher one. */
  #feesOver({ attempt, isTaken }: TrackedAttempt, market: UrgentMarket): Fees | undefined {
    const previous = newestTransactionOf(attempt);
    const { maxFeePerGas, maxPriorityFeePerGas } = previous;
    return (
      bumpedFees(previous, market) ?? (isTaken ? undefined : { maxFeePerGas, maxPriorityFeePerGas })
    );
  }

  /** The same calls as before, so that each of the transactions pays the same. */
  #sameCalls({ attempt, payments }: TrackedAttempt): Call | undefined {
    const carried = attempt.settlementIds.flatMap((id) => payments.get(id) ?? []);
    return carried.length === 0 ? undefined : this.#callFor(attempt.kind, carried);
  }

  /** A single payment left of a batch keeps the batch call, because its gas limit was set for that call. */
  #callFor(kind: Attempt['kind'], payments: readonly AcceptedPayment[]): Call {
    const [only] = payments;
    if (kind !== 'batch' && only !== undefined) return callOf(only);
    return batchCallOf(payments, this.options.batchSuffix);
  }

  async #storeAndSend(
    held: HeldLane,
    tracked: TrackedAttempt,
    head: Head,
    transaction: SignedTransaction,
  ): Promise<boolean> {
    const { attempts, observer } = this.options;
    const attempt: Attempt = {
      ...tracked.attempt,
      transactions: [...tracked.attempt.transactions, transaction],
    };
    const { kind } = await attempts.replace(held, attempt, this.#budgetFor(attempt));
    if (kind === 'budget') return false;
    tracked.attempt = attempt;
    tracked.pricedAtBlock = head.latest.number;
    tracked.sentAtBlock = head.latest.number;
    tracked.refusal = undefined;
    observer.feesBumped(held.lane, attempt);
    void this.broadcast(tracked);
    return true;
  }

  #budgetFor(attempt: Attempt): GasBudget {
    const { budgets, clock } = this.options;
    const fundingsWei = attempt.funding && (budgets.fundingsWei ?? 0n);
    return {
      costGwei: gweiOf(mostCostOf(attempt)),
      laneGwei: budgets.laneWei === undefined ? undefined : budgets.laneWei / WEI_PER_GWEI,
      payeeGwei: budgets.payeeWei === undefined ? undefined : budgets.payeeWei / WEI_PER_GWEI,
      fundingsGwei: fundingsWei === undefined ? undefined : fundingsWei / WEI_PER_GWEI,
      day: dayOf(clock.now()),
    };
  }
}

/** A transfer of native coins, which runs no code. */
function transferOrder({ to, valueWei }: Transfer): Pick<TransactionOrder, 'call' | 'valueWei'> {
  return { call: { to, data: '0x' }, valueWei };
}
