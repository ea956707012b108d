import { chainIdOf, chainIdOfV1Name } from '../protocol/payment/network.js';
import type { ParsedPayment, PaymentEnvelope } from '../protocol/payment/parse-payment.js';
import { readAddress } from '../protocol/payment/wire-values.js';
import { isSchemeName } from '../protocol/schemes/registry.js';
import type { RequestSubject } from './payment-observer.js';

/**
 * What a request is about, for counting it: also where the payment could not be parsed.
 *
 * @param isServed - whether this deployment serves a chain.
 */
export function subjectOf(
  { paymentPayload, paymentRequirements }: PaymentEnvelope,
  parsed: ParsedPayment,
  isServed: (chainId: number) => boolean,
): RequestSubject {
  const named = paymentRequirements['scheme'];
  const scheme = isSchemeName(named) ? named : undefined;
  if (parsed.ok) {
    const { dialect, requirements } = parsed.payment;
    const { chainId, asset } = requirements;
    return { x402Version: dialect.x402Version, scheme, chainId, asset };
  }
  const version = paymentPayload['x402Version'];
  const { networkAsSent } = parsed.correspondent;
  const chainId = chainIdOf(networkAsSent) ?? chainIdOfV1Name(networkAsSent);
  return {
    x402Version: version === 1 || version === 2 ? version : undefined,
    scheme,
    chainId: chainId !== undefined && isServed(chainId) ? chainId : undefined,
    asset: readAddress(paymentRequirements['asset']),
  };
}
