import type { Authorization } from '../evm/authorization.js';
import { actionOf } from '../schemes/registry.js';
import type { AcceptedPayment } from './accepted-payment.js';

/** JSON with decimal strings for numbers; the format of the ledger, version 1. */
export function encodePayment(payment: AcceptedPayment): string {
  return JSON.stringify(payment, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

/** Reads what {@link encodePayment} wrote. */
export function decodePayment(text: string): AcceptedPayment {
  const stored = JSON.parse(text) as Omit<AcceptedPayment, 'amount' | 'authorization'> & {
    readonly amount: string;
    readonly authorization: Authorization;
  };
  return {
    ...stored,
    amount: BigInt(stored.amount),
    tokenName: stored.tokenName,
    tokenVersion: stored.tokenVersion,
    authorization: actionOf(stored.authorization).decode(stored.authorization),
  };
}
