import type { PaymentIdentity } from '../../protocol/payment/identity.js';

/** The payment of an idempotency key. */
export interface BoundPayment {
  readonly chainId: number;
  readonly authorizationId: string;
  readonly termsTag: string;
}

/** The value of an idempotency key: `<payment>|<requester>|<when, ms>`. */
export interface Binding extends BoundPayment {
  readonly requester: string;
  /** Milliseconds since the epoch, by the clock of Redis. */
  readonly at: number;
  /** The stored text, for a compare-and-set. */
  readonly value: string;
}

/** `<chainId>.<authorization id>.<terms>` */
export function paymentNameOf(
  chainId: number,
  { authorizationId, termsTag }: Pick<PaymentIdentity, 'authorizationId' | 'termsTag'>,
): string {
  return `${chainId}.${authorizationId}.${termsTag}`;
}

/** @throws TypeError for a value that {@link paymentNameOf} and a requester did not make. */
export function readBinding(value: string): Binding {
  const [payment, requester, at] = value.split('|');
  const [chainId, authorizationId, termsTag] = payment?.split('.') ?? [];
  if (!authorizationId || !termsTag || !requester || !at) {
    throw new TypeError('an idempotency key holds no binding');
  }
  return { chainId: Number(chainId), authorizationId, termsTag, requester, at: Number(at), value };
}

export function isOfPayment(
  binding: BoundPayment,
  chainId: number,
  identity: Pick<PaymentIdentity, 'authorizationId' | 'termsTag'>,
): boolean {
  return (
    binding.chainId === chainId &&
    binding.authorizationId === identity.authorizationId &&
    binding.termsTag === identity.termsTag
  );
}
