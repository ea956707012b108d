import type { Address } from 'viem';
import { type AcceptedPayment, assetNameOf } from './accepted-payment.js';

/** A settlement that is about to be sent. */
export interface Sendable {
  readonly id: string;
  readonly payment: AcceptedPayment;
  /** It shared a transaction before and was not paid by it. */
  readonly goesAlone: boolean;
}

export interface BatchRules {
  readonly maxItems: number;
  /** Assets (`eip155:56/0x…`) whose code is trusted not to spoil the other payments of a batch. */
  readonly safeAssets: ReadonlySet<string>;
  /** Payees that want a transaction of their own for each payment. */
  readonly optOut: ReadonlySet<Address>;
}

export interface Groups<T extends Sendable> {
  /** Each of at least two settlements. */
  readonly batches: readonly (readonly T[])[];
  readonly singles: readonly T[];
}

/**
 * Divides what is ready into transactions: as much as may share one does, the rest goes alone.
 *
 * A batch needs trusted token code and payers without code, for one burner of gas reverts the whole
 * of it. Permit2 leaves no trace of its nonce in the logs, so two payments that would leave the same
 * `Transfer` are never in one batch when one of them is Permit2.
 */
export function groupForSending<T extends Sendable>(
  ready: readonly T[],
  rules: BatchRules,
): Groups<T> {
  const batches: { readonly items: T[]; readonly traces: Traces }[] = [];
  const singles: T[] = [];
  for (const item of ready) {
    if (!mayShare(item, rules)) {
      singles.push(item);
      continue;
    }
    const open = batches.find(
      ({ items, traces }) => items.length < rules.maxItems && traces.admits(item.payment),
    );
    const batch = open ?? { items: [], traces: new Traces() };
    if (open === undefined) batches.push(batch);
    batch.items.push(item);
    batch.traces.add(item.payment);
  }
  return {
    batches: batches.map(({ items }) => items).filter((items) => items.length > 1),
    singles: [...singles, ...batches.flatMap(({ items }) => (items.length === 1 ? items : []))],
  };
}

function mayShare({ payment, goesAlone }: Sendable, rules: BatchRules): boolean {
  return (
    rules.maxItems > 1 &&
    !goesAlone &&
    !payment.payerHasCode &&
    rules.safeAssets.has(assetNameOf(payment)) &&
    !rules.optOut.has(payment.payTo)
  );
}

/** The `Transfer` logs the payments of one batch will leave. */
class Traces {
  readonly #all = new Set<string>();
  readonly #ofPermit2 = new Set<string>();

  admits(payment: AcceptedPayment): boolean {
    const trace = traceOf(payment);
    return payment.authorization.method === 'permit2'
      ? !this.#all.has(trace)
      : !this.#ofPermit2.has(trace);
  }

  add(payment: AcceptedPayment): void {
    const trace = traceOf(payment);
    this.#all.add(trace);
    if (payment.authorization.method === 'permit2') this.#ofPermit2.add(trace);
  }
}

function traceOf({ asset, payTo, amount, authorization }: AcceptedPayment): string {
  return `${asset}${authorization.from}${payTo}${amount}`;
}
