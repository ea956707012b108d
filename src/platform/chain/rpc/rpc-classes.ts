import { type Hex, isHex } from 'viem';
import type { CallOutcome } from '../../../protocol/evm/chain-reader.js';
import type { RpcError, RpcOutcome } from './rpc-outcome.js';

/**
 * The meaning of node answers. A call is classified only by the shape of its answer. For raw transactions clients give
 * little but texts, so this is the only file that reads those; its test holds recorded samples.
 */

/** Geth's code for a revert, which other clients use too. */
const EXECUTION_REVERTED = 3;
/** Limits of rates: EIP-1474's, and what providers answer. */
const RATE_LIMITS: ReadonlySet<number> = new Set([-32_005, -32_029, -32_097, 429]);

/**
 * Codes of JSON-RPC 2.0 (§5.1), EIP-1474 and rate limits that mean that the call was not run: parse error, invalid
 * request, unknown method, invalid parameters, resource not found or unavailable, method not supported, limit exceeded,
 * version not supported, and too many requests.
 */
const NOT_RUN: ReadonlySet<number> = new Set([
  -32_700,
  -32_600,
  -32_601,
  -32_602,
  -32_001,
  -32_002,
  -32_004,
  -32_006,
  -32_016,
  ...RATE_LIMITS,
]);

/** Whether the node reports a rate limit of any kind. */
export function isRateLimit({ code }: Pick<RpcError, 'code'>): boolean {
  return RATE_LIMITS.has(code);
}

/** Bytes of return or revert data that are read. */
const RETURNED_MAX_BYTES = 32_768;

/**
 * A simulated call.
 *
 * @returns `unclear` for an error object that may be the call's own failure or the node's; the caller checks with a
 *   call that cannot fail. `undefined` when the node did not run the call.
 */
export function readCallOutcome(outcome: RpcOutcome): CallOutcome | 'unclear' | undefined {
  if (outcome.kind === 'result') {
    return isHex(outcome.value)
      ? { status: 'returned', data: boundedHex(outcome.value) }
      : undefined;
  }
  if (outcome.kind !== 'error') return undefined;
  const { error } = outcome;
  const data = revertDataOf(error);
  if (data !== undefined || error.code === EXECUTION_REVERTED) {
    return { status: 'reverted', data: data && boundedHex(data) };
  }
  return NOT_RUN.has(error.code) ? undefined : 'unclear';
}

/** Whole bytes, cut at the limit, which is above anything this service reads. */
export function boundedHex(data: Hex): Hex {
  return data.slice(0, 2 + 2 * RETURNED_MAX_BYTES) as Hex;
}

/** Geth returns the data itself; some clients nest it or prefix it with a word. */
export function revertDataOf({ data }: Pick<RpcError, 'data'>): Hex | undefined {
  if (isHex(data)) return data;
  if (typeof data === 'string') return readHexAtEnd(data);
  if (typeof data === 'object' && data !== null && 'data' in data && isHex(data.data)) {
    return data.data;
  }
  return undefined;
}

function readHexAtEnd(text: string): Hex | undefined {
  const hex = /0x[0-9a-fA-F]*$/.exec(text)?.[0];
  return isHex(hex) ? hex : undefined;
}

/**
 * The result of sending a raw transaction to a node.
 *
 * - `accepted`, `already_known`: it is in the pool of this node.
 * - `underpriced`: another transaction has this nonce, or the fee is below this node's minimum.
 * - `nonce_too_low`: a transaction of this nonce is mined.
 * - `no_funds`, `rejected`: this node refused the transaction before its pool.
 * - `unknown`: anything else. The transaction may be in the pool.
 */
export type SendResult =
  | { readonly kind: 'accepted' | 'already_known' | 'nonce_too_low' | 'no_funds' | 'unknown' }
  | { readonly kind: 'rejected' }
  | {
      readonly kind: 'underpriced';
      /** The minimum tip of this node, in wei, if its text names it. */
      readonly leastTipWei: bigint | undefined;
    };

const SEND_ERRORS: readonly (readonly [RegExp, Exclude<SendResult['kind'], 'underpriced'>])[] = [
  [
    /already known|known transaction|already imported|alreadyknown|already exists/i,
    'already_known',
  ],
  [
    /nonce too low|nonce is too low|oldnonce|ownnoncealreadyused|invalid nonce; got/i,
    'nonce_too_low',
  ],
  [/insufficient funds|insufficientfunds|insufficient balance for/i, 'no_funds'],
  [
    /intrinsic gas|exceeds block gas limit|gas limit (?:reached|too high|exceeds)|exceeds (?:the )?transaction gas limit|oversized data|invalid sender|invalid chain|chain ?id|tx type not supported|transaction type not supported|exceeds the configured cap/i,
    'rejected',
  ],
];

const UNDERPRICED =
  /underpriced|fee too low|feetoolow|gas price too low|max fee per gas less than block base fee|tip cap.*minimum needed|below (?:the )?minimum/i;

export function readSendResult(outcome: RpcOutcome): SendResult {
  if (outcome.kind === 'result') return { kind: 'accepted' };
  if (outcome.kind === 'silent') return { kind: 'unknown' };
  const { message } = outcome.error;
  if (UNDERPRICED.test(message)) return { kind: 'underpriced', leastTipWei: leastTipOf(message) };
  const known = SEND_ERRORS.find(([pattern]) => pattern.test(message));
  return { kind: known?.[1] ?? 'unknown' };
}

const LEAST_TIP = /minimum needed:?\s*(\d+(?:\.\d+)?)\s*(gwei|wei)?/i;
const WEI_PER_GWEI_DECIMALS = 9;

/** `gas tip cap 0.1 gwei, minimum needed 1 gwei` and the older form in plain wei. */
function leastTipOf(message: string): bigint | undefined {
  const match = LEAST_TIP.exec(message);
  const amount = match?.[1];
  if (amount === undefined) return undefined;
  const [whole = '0', fraction = ''] = amount.split('.');
  if (match?.[2]?.toLowerCase() !== 'gwei') return BigInt(whole);
  const digits = fraction.slice(0, WEI_PER_GWEI_DECIMALS).padEnd(WEI_PER_GWEI_DECIMALS, '0');
  return BigInt(whole + digits);
}
