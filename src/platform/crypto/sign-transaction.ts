import { secp256k1 as noble } from '@noble/curves/secp256k1';
import type { Address, Hex } from 'viem';
import { keccak256Bytes, keccak256Digits } from '../../protocol/evm/keccak.js';
import { loadNativeSecp256k1 } from './native-secp256k1.js';

/** A call in an EIP-1559 transaction without an access list. Fees and value in wei. */
export interface UnsignedTransaction {
  readonly chainId: number;
  readonly nonce: number;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly gas: bigint;
  readonly to: Address;
  readonly data: Hex;
  /** No native coins if absent. */
  readonly value?: bigint;
}

interface SignedTransaction {
  readonly raw: Hex;
  readonly hash: Hex;
}

const EIP1559_TYPE = Buffer.of(2);
const EMPTY = Buffer.alloc(0);
/** An empty RLP list: no access list. */
const EMPTY_LIST = Buffer.of(0xc0);

/**
 * An ECDSA signature on secp256k1 from which its signer can be recovered; `s` is in the lower half
 * (EIP-2).
 */
export interface RecoverableSignature {
  /** 32 bytes, like `s`. */
  readonly r: Uint8Array;
  readonly s: Uint8Array;
  /** Whether the y coordinate of the point of `r` is odd: 0 or 1. */
  readonly yParity: number;
}

type SignDigest = (digest: Uint8Array, key: Uint8Array) => RecoverableSignature;

/** Signs 32 bytes with a key of this process. */
export const signDigest: SignDigest = signDigestWith(loadNativeSecp256k1());

function signDigestWith(native: ReturnType<typeof loadNativeSecp256k1>): SignDigest {
  if (native === undefined) {
    return (digest, key) => {
      const signature = noble.sign(digest, key, { lowS: true });
      const compact = signature.toCompactRawBytes();
      return {
        r: compact.subarray(0, 32),
        s: compact.subarray(32),
        yParity: signature.recovery,
      };
    };
  }
  return (digest, key) => {
    const { signature, recid } = native.ecdsaSign(digest, key);
    return { r: signature.subarray(0, 32), s: signature.subarray(32), yParity: recid };
  };
}

/** The digest of a transaction, and a function that adds the signature. */
interface PreparedTransaction {
  /** 32 bytes. */
  readonly digest: Uint8Array;
  with(signature: RecoverableSignature): SignedTransaction;
}

/** Both steps of {@link prepareTransaction}, with a key of this process. */
export function signTransaction(
  transaction: UnsignedTransaction,
  privateKey: Uint8Array,
): SignedTransaction {
  const prepared = prepareTransaction(transaction);
  return prepared.with(signDigest(prepared.digest, privateKey));
}

/**
 * Encodes an EIP-1559 transaction (EIP-2718, EIP-1559; RLP by the Yellow Paper, appendix B). A test compares the
 * bytes with those of viem. viem works on hex text: a batch of thirty payments took it 5 ms, and takes this function
 * 0.25 ms.
 */
export function prepareTransaction(transaction: UnsignedTransaction): PreparedTransaction {
  const {
    chainId,
    nonce,
    maxPriorityFeePerGas,
    maxFeePerGas,
    gas,
    to,
    data,
    value = 0n,
  } = transaction;
  const fields = [
    rlpItem(integerBytes(BigInt(chainId))),
    rlpItem(integerBytes(BigInt(nonce))),
    rlpItem(integerBytes(maxPriorityFeePerGas)),
    rlpItem(integerBytes(maxFeePerGas)),
    rlpItem(integerBytes(gas)),
    rlpItem(Buffer.from(to.slice(2), 'hex')),
    rlpItem(integerBytes(value)),
    rlpItem(Buffer.from(data.slice(2), 'hex')),
    EMPTY_LIST,
  ];
  return {
    digest: keccak256Bytes(Buffer.concat([EIP1559_TYPE, rlpList(fields)])),
    with: ({ r, s, yParity }) => {
      const signed = Buffer.concat([
        EIP1559_TYPE,
        rlpList([
          ...fields,
          rlpItem(integerBytes(BigInt(yParity))),
          rlpItem(withoutLeadingZeros(r)),
          rlpItem(withoutLeadingZeros(s)),
        ]),
      ]);
      return { raw: `0x${signed.toString('hex')}`, hash: `0x${keccak256Digits(signed)}` };
    },
  };
}

function integerBytes(value: bigint): Buffer {
  if (value === 0n) return EMPTY;
  const digits = value.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}

function withoutLeadingZeros(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length && bytes[start] === 0) start += 1;
  return Buffer.from(bytes.subarray(start));
}

function rlpItem(bytes: Buffer): Buffer {
  const [first] = bytes;
  if (bytes.length === 1 && first !== undefined && first < 0x80) return bytes;
  return Buffer.concat([rlpHead(0x80, bytes.length), bytes]);
}

function rlpList(items: readonly Buffer[]): Buffer {
  const length = items.reduce((sum, item) => sum + item.length, 0);
  return Buffer.concat([rlpHead(0xc0, length), ...items]);
}

/** Up to 55 bytes the first byte contains the length; beyond that, the length of the length. */
function rlpHead(offset: number, length: number): Buffer {
  if (length <= 55) return Buffer.of(offset + length);
  const bytes = integerBytes(BigInt(length));
  return Buffer.concat([Buffer.of(offset + 55 + bytes.length), bytes]);
}
