import type { Payment } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import type { ChainReader } from '../../evm/chain-reader.js';
import type { Verdict, VerifyContext, VerifyScope } from '../verdict.js';
import { termsMismatchOfEip3009, verifyEip3009 } from './verify-eip3009.js';
import { termsMismatchOfPermit2, verifyPermit2 } from './verify-permit2.js';

/**
 * Judges a payment of the exact scheme: the checks of the reference facilitator in its order, with
 * its reasons (x402 exact EVM scheme). Changes nothing.
 *
 * @throws ChainUnavailableError when the chain cannot be asked.
 */
export function verifyExact(
  payment: Payment,
  context: VerifyContext,
  scope: VerifyScope = 'full',
): Promise<Verdict> {
  const { claim } = payment;
  return claim.method === 'eip3009'
    ? verifyEip3009(payment, claim, context, scope)
    : verifyPermit2(payment, claim, context, scope);
}

/**
 * The first broken one of the checks that need neither the chain, nor the clock, nor the signature:
 * whether this is a payment over these requirements at all. For payments known to be signed.
 */
export function termsMismatch(
  payment: Payment,
  chain: Pick<ChainReader, 'schemeContracts'>,
): Reason | undefined {
  const { claim } = payment;
  return claim.method === 'eip3009'
    ? termsMismatchOfEip3009(payment, claim)
    : termsMismatchOfPermit2(payment, claim, chain);
}
