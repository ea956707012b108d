import {
  type Binding,
  type BoundPayment,
  isOfPayment,
  paymentNameOf,
  readBinding,
} from '../../../../src/settlement/ledger/binding.js';
import type { Requester } from '../../../../src/settlement/ledger/requester.js';
import type { BindResult } from '../../../../src/settlement/ledger/settlement-store.js';

/** What idempotency keys are bound to, in memory. */
export class MemoryBindings {
  readonly #bindings = new Map<string, string>();

  constructor(private readonly now: () => number) {}

  of(keyTag: string): Binding | undefined {
    const value = this.#bindings.get(keyTag);
    return value === undefined ? undefined : readBinding(value);
  }

  bind(requester: Requester, payment: BoundPayment): BindResult {
    const found = this.#bindings.get(requester.keyTag);
    if (found !== undefined) {
      const binding = readBinding(found);
      const ageMs = this.now() - binding.at;
      if (!isOfPayment(binding, payment.chainId, payment)) {
        return { kind: 'other', binding, ageMs };
      }
    }
    this.#bindTo(requester, payment);
    return { kind: 'bound' };
  }

  takeOver(requester: Requester, payment: BoundPayment, from: Binding): boolean {
    if (this.#isBoundTo(requester, payment)) return true;
    if (this.#bindings.get(requester.keyTag) !== from.value) return false;
    this.#bindTo(requester, payment);
    return true;
  }

  unbind(requester: Requester, payment: BoundPayment): void {
    if (this.#isBoundTo(requester, payment)) this.#bindings.delete(requester.keyTag);
  }

  #isBoundTo({ keyTag, id }: Requester, payment: BoundPayment): boolean {
    const own = `${paymentNameOf(payment.chainId, payment)}|${id}|`;
    return this.#bindings.get(keyTag)?.startsWith(own) === true;
  }

  #bindTo({ keyTag, id }: Requester, payment: BoundPayment): void {
    this.#bindings.set(keyTag, `${paymentNameOf(payment.chainId, payment)}|${id}|${this.now()}`);
  }
}
