import type { Address, Hex } from 'viem';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import { bytes32Of } from '../rules/payment-message.js';
import type { AcceptedOffer } from './intent.js';

/** A signed payment in the form that a seller gets. */
export interface SignedPayment {
  /** The payload, for sellers on MCP. */
  readonly payload: JsonObject;
  /** Name and value of the header for sellers over HTTP: base64 of the payload. */
  readonly header: readonly [name: string, value: string];
}

/** As the x402 specifications say. */
export function signedPayment(
  deal: AcceptedOffer,
  from: Address,
  spender: Address,
  signature: Hex,
): SignedPayment {
  const payload =
    deal.spending.method === 'permit2'
      ? { signature, permit2Authorization: permit2Authorization(deal, from, spender) }
      : { signature, authorization: transferAuthorization(deal, from) };
  const { requirements, resource, extensions } = deal;
  if (deal.x402Version === 1) {
    const { network } = requirements;
    return shownIn('X-PAYMENT', { x402Version: 1, scheme: 'exact', network, payload });
  }
  const sent = { x402Version: 2, resource, accepted: requirements, payload, extensions };
  return shownIn('PAYMENT-SIGNATURE', sent);
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

function shownIn(name: string, payload: JsonObject): SignedPayment {
  return { payload, header: [name, Buffer.from(JSON.stringify(payload)).toString('base64')] };
}
