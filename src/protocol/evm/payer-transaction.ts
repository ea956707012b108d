import { type Address, type Hex, parseTransaction, serializeTransaction } from 'viem';
import { keccak256Digits } from './keccak.js';
import { S_MAX } from './signature.js';

/**
 * A signed transaction of the payer itself that must be in a block before its payment can be sent. Only the payer could
 * have made it, and it is sent unchanged.
 */
export interface PayerTransaction {
  readonly raw: Hex;
  readonly hash: Hex;
  readonly accountNonce: number;
  readonly gas: bigint;
  /** Wei. */
  readonly maxFeePerGas: bigint;
}

/** An EIP-1559 transaction as sent, with its signed data. Fees and value in wei. */
export interface SentTransaction extends PayerTransaction {
  readonly chainId: number;
  /** `undefined` for the creation of a contract. */
  readonly to: Address | undefined;
  readonly data: Hex;
  readonly value: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly hasAccessList: boolean;
  /** The hash that was signed. */
  readonly digest: Hex;
  /** r, s, v in 65 bytes. */
  readonly signature: Hex;
}

/** The maximum cost of a payer's transaction, in wei. */
export function mostCostOfTransaction({
  gas,
  maxFeePerGas,
}: Pick<PayerTransaction, 'gas' | 'maxFeePerGas'>): bigint {
  return gas * maxFeePerGas;
}

const EIP1559_PREFIX = '0x02';

/**
 * Reads a signed EIP-1559 transaction. `undefined` for bytes that are not one, and for one whose encoding is not
 * canonical: nodes would mine it under another hash.
 *
 * @param raw - lower case.
 */
export function readSentTransaction(raw: Hex): SentTransaction | undefined {
  if (!raw.startsWith(EIP1559_PREFIX)) return undefined;
  try {
    const parsed = parseTransaction(raw as `0x02${string}`);
    const { r, s, yParity, to, data = '0x', value = 0n, nonce = 0, gas = 0n, chainId } = parsed;
    const unsigned = { ...parsed, r: undefined, s: undefined, v: undefined, yParity: undefined };
    if (r === undefined || s === undefined || yParity === undefined) return undefined;
    if (serializeTransaction(unsigned, { r, s, yParity }) !== raw) return undefined;
    // Nodes take no larger one (EIP-2).
    if (BigInt(s) > S_MAX || !Number.isSafeInteger(nonce)) return undefined;
    return {
      raw,
      hash: hashOf(raw),
      digest: hashOf(serializeTransaction(unsigned)),
      signature: `0x${digits32(r)}${digits32(s)}${yParity === 0 ? '1b' : '1c'}`,
      chainId,
      accountNonce: nonce,
      gas,
      data,
      value,
      to: to === undefined || to === null ? undefined : (to.toLowerCase() as Address),
      maxFeePerGas: parsed.maxFeePerGas ?? 0n,
      maxPriorityFeePerGas: parsed.maxPriorityFeePerGas ?? 0n,
      hasAccessList: (parsed.accessList?.length ?? 0) > 0,
    };
  } catch {
    // Bytes that cannot be decoded.
    return undefined;
  }
}

function hashOf(bytes: Hex): Hex {
  return `0x${keccak256Digits(Buffer.from(bytes.slice(2), 'hex'))}`;
}

function digits32(hex: Hex): string {
  return hex.slice(2).padStart(64, '0');
}
