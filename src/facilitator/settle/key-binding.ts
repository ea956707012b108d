import type { PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Reason } from '../../protocol/reasons.js';
import { type Binding, type BoundPayment, isOfPayment } from '../../settlement/ledger/binding.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import {
  BINDING_ABANDONED_MS,
  type SettlementStore,
} from '../../settlement/ledger/settlement-store.js';
import type { ArchivedPayments } from '../status/archived-payments.js';
import type { DeferredSteps } from './deferred-steps.js';

type Store = Pick<SettlementStore, 'bind' | 'takeOver' | 'unbind' | 'hasClaim'>;

/**
 * - `bound`: the key is bound to this payment. `conflict`: the key belongs to another payment.
 * - `unknown`: the key was bound to another payment, and the outcome of that payment cannot be read now.
 */
export type KeyResult = 'bound' | 'conflict' | 'unknown';

/** The answers to a payment whose key could not be bound. */
export const KEY_REFUSALS = {
  conflict: 'idempotency_key_conflict',
  unknown: 'network_unavailable',
} as const satisfies Record<Exclude<KeyResult, 'bound'>, Reason>;

/** One requester's idempotency key and the payment it comes with. */
export class KeyBinding {
  #hasBound = false;

  constructor(
    private readonly store: Store,
    private readonly archived: Pick<ArchivedPayments, 'hasClaim'>,
    private readonly deferred: DeferredSteps,
    private readonly requester: Requester,
    private readonly payment: BoundPayment,
  ) {}

  /** Whether a binding that was read speaks against this payment. The key may still be taken over. */
  isOfAnother(binding: Binding | undefined): boolean {
    return binding !== undefined && !isOfPayment(binding, this.payment.chainId, this.payment);
  }

  /**
   * Binds the key to the payment shortly before a claim. A key whose payment failed is taken over after a while, if
   * neither the ledger nor the archive has a claim of it. The ledger alone cannot decide that, because a finished claim
   * leaves it.
   *
   * @returns `bound` without a key.
   * @throws RedisUnavailableError
   */
  async bind(): Promise<KeyResult> {
    if (this.requester.keyTag === '') return 'bound';
    const bound = await this.store.bind(this.requester, this.payment);
    if (bound.kind === 'bound') {
      this.#hasBound = true;
      return 'bound';
    }
    const { binding, ageMs } = bound;
    if (ageMs < BINDING_ABANDONED_MS) return 'conflict';
    if (await this.store.hasClaim(binding.chainId, binding.authorizationId)) return 'conflict';
    // Read only now: a claim is archived before it leaves the ledger, so one of the two always shows it.
    const archived = await this.archived.hasClaim(binding);
    if (archived !== 'no') return archived === 'yes' ? 'conflict' : 'unknown';
    this.#hasBound = await this.store.takeOver(this.requester, this.payment, binding);
    return this.#hasBound ? 'bound' : 'conflict';
  }

  /** Holds the key after the claim: another request of the order may have bound it meanwhile, and given it up. */
  async renew(): Promise<void> {
    if (!this.#hasBound) return;
    await this.deferred.runOrDefer(() => this.store.bind(this.requester, this.payment));
  }

  /** The claim failed, so the keys that this requester bound for it are free again. */
  async unbind(): Promise<void> {
    if (!this.#hasBound) return;
    this.#hasBound = false;
    await this.deferred.runOrDefer(() => this.store.unbind(this.requester, this.payment));
  }
}

export function boundPaymentOf(chainId: number, identity: PaymentIdentity): BoundPayment {
  const { authorizationId, termsTag } = identity;
  return { chainId, authorizationId, termsTag };
}
