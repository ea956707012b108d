import { isHex } from 'viem';
import type { CallOutcome } from '../../core/exact/chain-reader.js';
import type { RpcError, RpcOutcome } from './rpc-outcome.js';

/**
 * What node answers mean. Clients differ in their texts and give little else, so this is the one
 * file that looks at texts; its test holds the recorded samples.
 */

const EXECUTION_REVERTED = 3;
const REVERT_TEXT =
  /revert|out ?of ?gas|gas uint64 overflow|invalid opcode|opcode .* not defined|invalid jump|stack (?:under|over)flow|stack limit|bad instruction|vm execution error|write protection|max code size|outofoffset|intrinsic gas too low|insufficient funds for transfer/i;

/** A simulated call, or `undefined` when the node did not run it. */
export function readCallOutcome(outcome: RpcOutcome): CallOutcome | undefined {
  if (outcome.kind === 'result') {
    return isHex(outcome.value) ? { status: 'returned', data: outcome.value } : undefined;
  }
  return outcome.kind === 'error' && isExecutionFailure(outcome.error)
    ? { status: 'reverted', data: revertDataOf(outcome.error) }
    : undefined;
}

function isExecutionFailure(error: RpcError): boolean {
  return (
    error.code === EXECUTION_REVERTED ||
    revertDataOf(error) !== undefined ||
    REVERT_TEXT.test(error.message)
  );
}

/** Geth gives the data itself; some clients nest it or put a word before it. */
function revertDataOf({ data }: RpcError): `0x${string}` | undefined {
  if (isHex(data)) return data;
  if (typeof data === 'string') return /0x[0-9a-fA-F]*$/.exec(data)?.[0] as `0x${string}`;
  if (typeof data === 'object' && data !== null && 'data' in data && isHex(data.data)) {
    return data.data;
  }
  return undefined;
}

/**
 * What a node did with a raw transaction.
 *
 * - `accepted`, `already_known`: it is in the pool of this node.
 * - `underpriced`: another transaction of this nonce is there, or the fee is below this node's least.
 * - `nonce_too_low`: a transaction of this nonce is mined.
 * - `no_funds`, `rejected`: this node refused the bytes before its pool.
 * - `unknown`: anything else. The transaction may be in the pool.
 */
export type SendResult =
  | { readonly kind: 'accepted' | 'already_known' | 'nonce_too_low' | 'no_funds' | 'unknown' }
  | { readonly kind: 'rejected' }
  | {
      readonly kind: 'underpriced';
      /** The least tip this node takes, in wei, where it says so. */
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
