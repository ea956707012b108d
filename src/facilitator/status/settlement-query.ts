import { z } from 'zod';
import { readQuery } from '../../platform/http/read-query.js';

const text = (pattern: RegExp, message: string): z.ZodString => z.string().regex(pattern, message);
const address = text(/^0x[0-9a-fA-F]{40}$/, 'must be an address: 0x and 40 hex digits').optional();
const anyText = z.string().optional();

const SCHEMA = z.strictObject({
  transaction: text(/^0x[0-9a-fA-F]{64}$/, 'must be a transaction hash').optional(),
  network: text(/^eip155:[1-9]\d{0,15}$/, 'must be a CAIP-2 name of an EVM chain').optional(),
  /** The token, whatever contract keeps the nonce; any letter case. */
  asset: address,
  payer: address,
  /** Of the authorization: decimal, or hex with 0x. */
  nonce: text(/^(?:\d{1,78}|0x[0-9a-fA-F]{1,64})$/, 'must be a number').optional(),
  /** The buyer's name of its payment, by the extension `payment-identifier`. */
  paymentId: text(/^[a-zA-Z0-9_-]{16,128}$/, 'must be a payment identifier').optional(),
  /** Whom it was to pay; with `payer` the scope of a payment identifier where there is no API key. */
  payTo: address,
  from: anyText,
  to: anyText,
  state: anyText,
  limit: anyText,
  cursor: anyText,
});

/**
 * `GET /v2/settlements?…`: by transaction, by authorization, or by the buyer's name of a payment. Else it is a
 * list, whose further parameters the history reads.
 */
export type SettlementQuery = z.output<typeof SCHEMA>;

/** @throws CodedError `invalid_query`, naming every parameter that is wrong and none of its values. */
export function readSettlementQuery(query: unknown): SettlementQuery {
  return readQuery(SCHEMA, query);
}
