import type { Address, Hex } from 'viem';
import { bytes32Of } from '../rules/payment-message.js';
import type { AcceptedOffer } from './intent.js';

/** Header and value that present a signed payment; base64 of JSON, as the x402 specifications say. */
export function paymentHeader(
  deal: AcceptedOffer,
  from: Address,
  spender: Address,
  signature: Hex,
): readonly [name: string, value: string] {
  const payload =
    deal.spending.method === 'permit2'
      ? { signature, permit2Authorization: permit2Authorization(deal, from, spender) }
      : { signature, authorization: transferAuthorization(deal, from) };
  const { requirements, resource, extensions } = deal;
  if (deal.x402Version === 1) {
    const { network } = requirements;
    return ['X-PAYMENT', base64({ x402Version: 1, scheme: 'exact', network, payload })];
  }
  const value = { x402Version: 2, resource, accepted: requirements, payload, extensions };
  return ['PAYMENT-SIGNATURE', base64(value)];
}

function transferAuthorization(
  { spending }: AcceptedOffer,
  from: Address,
): Readonly<Record<string, string>> {
  return {
    from,
    to: spending.payTo,
    value: spending.amount.toString(),
    validAfter: '0',
    validBefore: spending.deadline.toString(),
    nonce: bytes32Of(spending.nonce),
  };
}

function permit2Authorization(
  { spending }: AcceptedOffer,
  from: Address,
  spender: Address,
): Readonly<Record<string, unknown>> {
  return {
    from,
    permitted: { token: spending.asset, amount: spending.amount.toString() },
    spender,
    nonce: spending.nonce.toString(),
    deadline: spending.deadline.toString(),
    witness: { to: spending.payTo, validAfter: '0' },
  };
}

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}
