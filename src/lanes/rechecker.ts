import { type Address, decodeFunctionResult, multicall3Abi } from 'viem';
import { isAuthorizationUsed, readBlockNumber, refOf } from '../chain/authorization-use.js';
import { readQuantity } from '../chain/block.js';
import type { ChainView } from '../chain/chain-view.js';
import type { EvmChain } from '../chain/evm-chain.js';
import { ChainUnavailableError } from '../core/errors.js';
import { aggregateCall } from '../core/exact/calls.js';
import type { CallOutcome } from '../core/exact/chain-reader.js';
import { diagnose } from '../core/exact/diagnose.js';
import { reasonOfRevert } from '../core/exact/revert-reason.js';
import type { Reason } from '../core/reasons.js';
import { type AcceptedPayment, callOf } from '../core/settlement/accepted-payment.js';
import { type BatchRules, groupForSending, type Sendable } from '../core/settlement/grouping.js';
import type { GasBook } from './gas-book.js';

/** Settlements that go into one transaction, with a gas limit it was simulated with. */
export interface SendGroup<T extends Sendable = Sendable> {
  readonly items: readonly T[];
  readonly gas: bigint;
}

export interface Rechecked<T extends Sendable> extends Judged<T> {
  /** A block in which none of the authorizations was used yet. */
  readonly blockNumber: bigint;
}

interface Judged<T extends Sendable> {
  readonly groups: readonly SendGroup<T>[];
  readonly refusals: readonly { readonly id: string; readonly reason: Reason }[];
}

type Checked = { readonly gas: bigint } | { readonly reason: Reason };

/** Multicall3 itself: the call data is priced with the items, the rest is copying and bookkeeping. */
const BATCH_BASE_GAS = 30_000n;
const BATCH_ITEM_GAS = 8000n;

/** Reasons that name no cause. */
const UNEXPLAINED: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_exact_evm_transaction_simulation_failed',
  'permit2_simulation_failed',
]);

/**
 * The last look before money is spent: everything ready is simulated from the lane's own signer on the
 * newest block, together where it will be sent together.
 */
export class Rechecker {
  constructor(
    private readonly chain: EvmChain,
    private readonly signer: Address,
    private readonly gasBook: GasBook,
    private readonly maxGas: bigint,
  ) {}

  /** @throws ChainUnavailableError when the chain cannot be asked. */
  recheck<T extends Sendable>(ready: readonly T[], rules: BatchRules): Promise<Rechecked<T>> {
    return this.chain.withView(async (view) => {
      const { batches, singles } = groupForSending(ready, rules);
      // The number is asked for first: what the simulations see is this block or a newer one.
      const [blockNumber, ...checked] = await Promise.all([
        readBlockNumber(view),
        ...batches.map((batch) => this.#checkTogether(view, batch)),
        ...singles.map((item) => this.#checkAlone(view, item)),
      ]);
      const refusals = checked.flatMap((one) => one.refusals);
      if (refusals.length > 0 && (await this.chain.isBehind(view))) {
        throw new ChainUnavailableError(this.chain.chainId, 'a recheck');
      }
      return { groups: checked.flatMap((one) => one.groups), refusals, blockNumber };
    });
  }

  async #checkTogether<T extends Sendable>(
    view: ChainView,
    batch: readonly T[],
  ): Promise<Judged<T>> {
    const limits = batch.map(({ payment }) => this.gasBook.limitFor(payment));
    if (limits.includes(undefined)) return this.#checkEachAlone(view, batch);
    const call = aggregateCall(
      batch.map(({ payment }) => callOf(payment, this.chain.permit2Proxy)),
    );
    const gas = limits.reduce<bigint>(
      (sum, limit) => sum + (limit ?? 0n) + BATCH_ITEM_GAS,
      BATCH_BASE_GAS,
    );
    const [outcome, haveCode] = await Promise.all([
      view.callFrom(this.signer, call, gas),
      Promise.all(batch.map(({ payment }) => view.hasCode(payment.authorization.from))),
    ]);
    const succeeded = readSuccesses(outcome, batch.length);
    const good = batch.filter(
      (_, index) => succeeded?.[index] === true && haveCode[index] === false,
    );
    const doubtful = batch.filter((item) => !good.includes(item));
    if (doubtful.length === 0) return { groups: [{ items: batch, gas }], refusals: [] };
    // One that fails in company is judged alone, and the others once more without it.
    const [rest, alone] = await Promise.all([
      good.length > 1 ? this.#checkTogether(view, good) : this.#checkEachAlone(view, good),
      this.#checkEachAlone(view, doubtful),
    ]);
    return {
      groups: [...rest.groups, ...alone.groups],
      refusals: [...rest.refusals, ...alone.refusals],
    };
  }

  async #checkEachAlone<T extends Sendable>(
    view: ChainView,
    items: readonly T[],
  ): Promise<Judged<T>> {
    const all = await Promise.all(items.map((item) => this.#checkAlone(view, item)));
    return {
      groups: all.flatMap(({ groups }) => groups),
      refusals: all.flatMap(({ refusals }) => refusals),
    };
  }

  async #checkAlone<T extends Sendable>(view: ChainView, item: T): Promise<Judged<T>> {
    const checked = await this.#simulateAlone(view, item.payment);
    return 'gas' in checked
      ? { groups: [{ items: [item], gas: checked.gas }], refusals: [] }
      : { groups: [], refusals: [{ id: item.id, reason: checked.reason }] };
  }

  async #simulateAlone(view: ChainView, payment: AcceptedPayment): Promise<Checked> {
    const call = callOf(payment, this.chain.permit2Proxy);
    const known = this.gasBook.limitFor(payment);
    if (known !== undefined) {
      const outcome = await view.callFrom(this.signer, call, known);
      if (outcome.status === 'returned') return { gas: known };
    }
    // Unknown gas, more gas than known, or a payment that has become bad: the estimate tells which.
    const { endpoint } = view.health;
    const transaction = { from: this.signer, ...call };
    const answer = await endpoint.request('eth_estimateGas', [transaction], 2500);
    const estimate = answer.kind === 'result' ? readQuantity(answer.value) : undefined;
    if (estimate !== undefined) {
      const gas = this.gasBook.note(payment, estimate);
      return gas === undefined ? { reason: 'gas_limit_exceeded' } : { gas };
    }
    if (answer.kind === 'silent') {
      throw new ChainUnavailableError(this.chain.chainId, 'eth_estimateGas');
    }
    const simulate = (): Promise<CallOutcome> => view.callFrom(this.signer, call, this.maxGas);
    const outcome = await simulate();
    const reason =
      outcome.status === 'returned' ? undefined : await reasonFor(view, payment, outcome, simulate);
    return reason === undefined ? { gas: this.maxGas } : { reason };
  }
}

/**
 * Why a settlement that was good when it was accepted would revert now; `undefined` when it would not
 * after all.
 */
async function reasonFor(
  view: ChainView,
  payment: AcceptedPayment,
  { data }: Extract<CallOutcome, { status: 'reverted' }>,
  simulate: () => Promise<CallOutcome>,
): Promise<Reason | undefined> {
  const { method } = payment.authorization;
  const diagnosed = await diagnose(view, payment, payment.authorization, simulate);
  if (diagnosed === undefined) return undefined;
  // Asked for last: what it spent when it was used may be what is missing.
  if (method === 'permit2' && (await isAuthorizationUsed(view, refOf(payment))) === true) {
    return 'permit2_invalid_nonce';
  }
  return UNEXPLAINED.has(diagnosed) ? (reasonOfRevert(data, method) ?? diagnosed) : diagnosed;
}

/** Whether each call of an `aggregate3` succeeded; `undefined` when the whole of it failed. */
function readSuccesses(outcome: CallOutcome, count: number): readonly boolean[] | undefined {
  if (outcome.status !== 'returned') return undefined;
  try {
    const results = decodeFunctionResult({
      abi: multicall3Abi,
      functionName: 'aggregate3',
      data: outcome.data,
    });
    return results.length === count ? results.map(({ success }) => success) : undefined;
  } catch {
    return undefined;
  }
}
