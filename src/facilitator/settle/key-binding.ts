import type { PaymentIdentity } from '../../protocol/payment/identity.js';
import { type Binding, type BoundPayment, isOfPayment } from '../../settlement/ledger/binding.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import {
  BINDING_ABANDONED_MS,
  type SettlementStore,
} from '../../settlement/ledger/settlement-store.js';
import type { OwedSteps } from './owed-steps.js';

type Store = Pick<SettlementStore, 'bind' | 'takeOver' | 'unbind' | 'hasClaim'>;

/** One requester's idempotency key and the payment it comes with. */
export class KeyBinding {
  #hasBound = false;

  constructor(
    private readonly store: Store,
    private readonly owed: OwedSteps,
    private readonly requester: Requester,
    private readonly payment: BoundPayment,
  ) {}

  /** Whether what was read of the key speaks against this payment. It may still be taken over. */
  isOfAnother(binding: Binding | undefined): boolean {
    return binding !== undefined && !isOfPayment(binding, this.payment.chainId, this.payment);
  }

  isOfThis(binding: Binding | undefined): boolean {
    return binding !== undefined && !this.isOfAnother(binding);
  }

  /**
   * Binds the key to the payment, freshly enough for a claim. A key whose payment has no claim any more,
   * because nothing was ever signed for it, is taken over after a while.
   *
   * @returns whether it is bound to this payment now; without a key always.
   * @throws RedisUnavailableError
   */
  async bind(): Promise<boolean> {
    if (this.requester.keyTag === '') return true;
    const bound = await this.store.bind(this.requester, this.payment);
    if (bound.kind === 'bound') {
      this.#hasBound = true;
      return true;
    }
    const { binding, ageMs } = bound;
    if (ageMs < BINDING_ABANDONED_MS) return false;
    if (await this.store.hasClaim(binding.chainId, binding.authorizationId)) return false;
    this.#hasBound = await this.store.takeOver(this.requester, this.payment, binding);
    return this.#hasBound;
  }

  /** The claim came to nothing: what this requester has bound for it is free again. */
  async unbind(): Promise<void> {
    if (!this.#hasBound) return;
    this.#hasBound = false;
    await this.owed.takeOrOwe(() => this.store.unbind(this.requester, this.payment));
  }
}

export function boundPaymentOf(chainId: number, identity: PaymentIdentity): BoundPayment {
  const { authorizationId, termsTag } = identity;
  return { chainId, authorizationId, termsTag };
}
