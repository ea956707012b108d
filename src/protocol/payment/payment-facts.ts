import type { Call } from '../evm/calls.js';
import { actionOf } from '../schemes/registry.js';
import type { AcceptedPayment, InFlightKind } from './accepted-payment.js';

/** What the scheme of an accepted payment says of it. */

/** The call that makes the payment. */
export function callOf(payment: AcceptedPayment): Call {
  const { authorization } = payment;
  return actionOf(authorization).callOf(authorization, payment);
}

export function inFlightKindOf({ authorization }: AcceptedPayment): InFlightKind {
  return actionOf(authorization).inFlightKindOf(authorization);
}

/** The nonce of the authorization (not of an account), as one number whatever its spelling. */
export function authorizationNonceOf({ authorization }: AcceptedPayment): bigint {
  return actionOf(authorization).nonceOf(authorization);
}

/** Unix seconds at which the chain stops accepting the authorization. */
export function deadlineOf({ authorization }: AcceptedPayment): bigint {
  return actionOf(authorization).deadlineOf(authorization);
}

const DEADLINE_MAX = 99_999_999_999;
const DEADLINE_BOUND = BigInt(DEADLINE_MAX);

/** Unix seconds, bounded so that it survives as a JavaScript number (some wallets sign 2^256 - 1). */
export function boundedDeadlineOf(payment: AcceptedPayment): number {
  const deadline = deadlineOf(payment);
  return deadline > DEADLINE_BOUND ? DEADLINE_MAX : Number(deadline);
}

/** Whether a block of this time, and any later one, refuses the payment. */
export function isExpiredAt({ authorization }: AcceptedPayment, blockTime: number): boolean {
  return actionOf(authorization).isExpiredAt(authorization, BigInt(blockTime));
}
