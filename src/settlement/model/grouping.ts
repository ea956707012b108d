import type { Address } from 'viem';
import { type AcceptedPayment, assetNameOf } from '../../protocol/payment/accepted-payment.js';
import { transferOf } from '../../protocol/payment/payment-facts.js';
import { actionOf } from '../../protocol/schemes/registry.js';

/** A settlement that is about to be sent. */
export interface Sendable {
  readonly id: string;
  readonly payment: AcceptedPayment;
  /** The settlement shared a transaction before and was not paid by it. */
  readonly goesAlone: boolean;
  /** How often its simulation had no result. */
  readonly tries?: number;
}

export interface BatchRules {
  readonly maxItems: number;
  /** Assets (`eip155:56/0x…`) whose code is trusted not to spoil the other payments of a batch. */
  readonly safeAssets: ReadonlySet<string>;
  /** Payees that want a transaction of their own for each payment. */
  readonly optOut: ReadonlySet<Address>;
  /** Gas limit of one transaction; see {@link gasBoundOf}. */
  readonly maxGas: bigint;
}

/** No transaction may have a higher gas limit (EIP-7825). */
const TRANSACTION_GAS_MAX = 16_777_216n;
/** Validators choose what they include: a transaction above this part of a block may wait for long. */
const BLOCK_PART = 4n;

/** Multicall3 itself: the call data is priced with the items, the rest is copying and bookkeeping. */
const BATCH_BASE_GAS = 30_000n;
const BATCH_ITEM_GAS = 8000n;

/**
 * The highest gas limit of a lane's transaction.
 *
 * @param blockGasLimit - of the newest block; 0 where the chain does not say.
 */
export function gasBoundOf(blockGasLimit: bigint): bigint {
  const part = blockGasLimit / BLOCK_PART;
  return blockGasLimit === 0n || part > TRANSACTION_GAS_MAX ? TRANSACTION_GAS_MAX : part;
}

/** The gas limit of a batch of items with these limits. */
export function batchGas(limits: readonly bigint[]): bigint {
  return limits.reduce((sum, limit) => sum + limit + BATCH_ITEM_GAS, BATCH_BASE_GAS);
}

interface Groups<T extends Sendable> {
  /** Each of at least two settlements. */
  readonly batches: readonly (readonly T[])[];
  readonly singles: readonly T[];
}

/**
 * Divides what is ready into transactions: as much as may share one does, the rest goes alone.
 *
 * A batch needs trusted token code and payers without code, for one burner of gas reverts the whole
 * of it. Two payments that would leave the same `Transfer` are never in one batch when the evidence of one
 * of them does not name its authorization.
 *
 * @param limitOf - the gas limit of a payment in a batch.
 */
export function groupForSending<T extends Sendable>(
  ready: readonly T[],
  rules: BatchRules,
  limitOf: (payment: AcceptedPayment) => bigint,
): Groups<T> {
  const batches: OpenBatch<T>[] = [];
  const singles: T[] = [];
  for (const item of ready) {
    if (!mayShare(item, rules)) {
      singles.push(item);
      continue;
    }
    const limit = limitOf(item.payment);
    const open = batches.find(
      ({ items, limits, traces }) =>
        items.length < rules.maxItems &&
        batchGas([...limits, limit]) <= rules.maxGas &&
        traces.admits(item.payment),
    );
    const batch = open ?? { items: [], limits: [], traces: new Traces() };
    if (open === undefined) batches.push(batch);
    batch.items.push(item);
    batch.limits.push(limit);
    batch.traces.add(item.payment);
  }
  return {
    batches: batches.map(({ items }) => items).filter((items) => items.length > 1),
    singles: [...singles, ...batches.flatMap(({ items }) => (items.length === 1 ? items : []))],
  };
}

interface OpenBatch<T extends Sendable> {
  readonly items: T[];
  readonly limits: bigint[];
  readonly traces: Traces;
}

function mayShare({ payment, goesAlone }: Sendable, rules: BatchRules): boolean {
  return (
    rules.maxItems > 1 &&
    !goesAlone &&
    actionOf(payment.authorization).mayShare(payment.authorization) &&
    !payment.payerHasCode &&
    rules.safeAssets.has(assetNameOf(payment)) &&
    !rules.optOut.has(payment.payTo)
  );
}

/** The `Transfer` logs the payments of one batch will leave. */
class Traces {
  readonly #all = new Set<string>();
  readonly #nameless = new Set<string>();

  admits(payment: AcceptedPayment): boolean {
    const trace = traceOf(payment);
    return isNamed(payment) ? !this.#nameless.has(trace) : !this.#all.has(trace);
  }

  add(payment: AcceptedPayment): void {
    const trace = traceOf(payment);
    this.#all.add(trace);
    if (!isNamed(payment)) this.#nameless.add(trace);
  }
}

function isNamed({ authorization }: AcceptedPayment): boolean {
  const { evidence } = actionOf(authorization);
  return evidence.by === 'state' || evidence.isNamed;
}

function traceOf(payment: AcceptedPayment): string {
  const { asset, payer, payTo, amount } = transferOf(payment);
  return `${asset}${payer}${payTo}${amount}`;
}
