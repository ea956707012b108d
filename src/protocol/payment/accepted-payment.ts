import type { Address, Hex } from 'viem';
import {
  type Authorization,
  deadlineOf,
  type Eip3009Authorization,
  type Permit2Authorization,
} from '../evm/authorization.js';
import { type Call, settlementCall } from '../evm/calls.js';

/**
 * A payment that was judged good: what the queue, the lanes and the ledger work with. It holds a live
 * authorization, so it must never be logged.
 */
export interface AcceptedPayment {
  readonly chainId: number;
  readonly asset: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly authorization: Authorization;
  readonly payerHasCode: boolean;
  /** The token's EIP-712 domain as the seller gave it; Permit2 needs none. */
  readonly tokenName: string | undefined;
  readonly tokenVersion: string | undefined;
}

export function callOf(payment: AcceptedPayment): Call {
  return settlementCall(payment.authorization, payment.asset);
}

/** `eip155:56/0x…`, as assets are named in settings. */
export function assetNameOf(payment: { chainId: number; asset: Address }): string {
  return `eip155:${payment.chainId}/${payment.asset}`;
}

/**
 * What a settlement counts for while it is in flight: `e` EIP-3009 (balance), `p` Permit2 (balance and
 * allowance), `s` Permit2 with a sponsored permit (balance; the permit brings its own allowance).
 */
export type InFlightKind = 'e' | 'p' | 's';

export function inFlightKindOf({ authorization }: AcceptedPayment): InFlightKind {
  if (authorization.method === 'eip3009') return 'e';
  return authorization.sponsoredPermit === undefined ? 'p' : 's';
}

/** Unix seconds, bounded so that it survives as a JavaScript number (some wallets sign 2^256 - 1). */
export function boundedDeadlineOf(payment: AcceptedPayment): number {
  const deadline = deadlineOf(payment.authorization);
  return deadline > BigInt(DEADLINE_MAX) ? DEADLINE_MAX : Number(deadline);
}

const DEADLINE_MAX = 99_999_999_999;

/** JSON with decimal strings for numbers; the format of the ledger, version 1. */
export function encodePayment(payment: AcceptedPayment): string {
  return JSON.stringify(payment, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

type Encoded<T> = { readonly [K in keyof T]: T[K] extends bigint ? string : T[K] };

interface EncodedPermit {
  readonly value: string;
  readonly deadline: string;
  readonly r: Hex;
  readonly s: Hex;
  readonly v: number;
}

type EncodedAuthorization =
  | Encoded<Eip3009Authorization>
  | (Encoded<Omit<Permit2Authorization, 'sponsoredPermit'>> & {
      readonly sponsoredPermit?: EncodedPermit;
    });

/** Reads what {@link encodePayment} wrote. */
export function decodePayment(text: string): AcceptedPayment {
  const stored = JSON.parse(text) as Omit<AcceptedPayment, 'amount' | 'authorization'> & {
    readonly amount: string;
    readonly authorization: EncodedAuthorization;
  };
  return {
    ...stored,
    amount: BigInt(stored.amount),
    tokenName: stored.tokenName,
    tokenVersion: stored.tokenVersion,
    authorization: decodeAuthorization(stored.authorization),
  };
}

function decodeAuthorization(stored: EncodedAuthorization): Authorization {
  if (stored.method === 'eip3009') {
    return {
      ...stored,
      value: BigInt(stored.value),
      validAfter: BigInt(stored.validAfter),
      validBefore: BigInt(stored.validBefore),
    };
  }
  const { sponsoredPermit: permit } = stored;
  return {
    ...stored,
    amount: BigInt(stored.amount),
    nonce: BigInt(stored.nonce),
    deadline: BigInt(stored.deadline),
    witnessValidAfter: BigInt(stored.witnessValidAfter),
    sponsoredPermit: permit && {
      ...permit,
      value: BigInt(permit.value),
      deadline: BigInt(permit.deadline),
    },
  };
}
