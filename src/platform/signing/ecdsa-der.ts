import { secp256k1 as noble } from '@noble/curves/secp256k1';
import type { Address } from 'viem';
import { uintWord } from '../../protocol/evm/abi-words.js';
import { keccak256Digits } from '../../protocol/evm/keccak.js';
import { loadSignerRecovery } from '../crypto/recover-signer.js';
import type { RecoverableSignature } from '../crypto/sign-transaction.js';

/** The order of secp256k1 (SEC 2, 2.4.1). */
const ORDER = noble.CURVE.n;
const SEQUENCE = 0x30;
const INTEGER = 0x02;
/** 32 bytes, and a zero byte before them if their top bit is set. */
const INTEGER_BYTES_MOST = 33;
/** Two such integers with two bytes before each, and two bytes of the sequence. */
const SIGNATURE_BYTES_MOST = 72;

/**
 * The DER bytes before the point in a public key of secp256k1 (RFC 5480): the algorithm (id-ecPublicKey
 * 1.2.840.10045.2.1, secp256k1 1.3.132.0.10) and the head of a bit string of 65 bytes.
 */
const SPKI_HEAD = Buffer.from('3056301006072a8648ce3d020106052b8104000a034200', 'hex');
/** 0x04, x and y. */
const POINT_BYTES = 65;

const { recoverSigner } = loadSignerRecovery();

/**
 * Reads `Ecdsa-Sig-Value` (RFC 3279, 2.2.3) from a key service, by the strict rules of DER.
 *
 * @returns `undefined` unless both integers are above 0 and below the order.
 */
export function readDerSignature(
  der: Uint8Array,
): { readonly r: bigint; readonly s: bigint } | undefined {
  if (der.length > SIGNATURE_BYTES_MOST) return undefined;
  if (der[0] !== SEQUENCE || der[1] !== der.length - 2) return undefined;
  const r = readInteger(der, 2);
  const s = r && readInteger(der, r.end);
  if (r === undefined || s?.end !== der.length) return undefined;
  return { r: r.value, s: s.value };
}

function readInteger(
  der: Uint8Array,
  start: number,
): { readonly value: bigint; readonly end: number } | undefined {
  const length = der[start + 1] ?? 0;
  const end = start + 2 + length;
  if (der[start] !== INTEGER || length < 1 || length > INTEGER_BYTES_MOST) return undefined;
  if (end > der.length) return undefined;
  const [first = 0, second = 0] = der.subarray(start + 2, end);
  const isNegative = first >= 0x80;
  const isPadded = length > 1 && first === 0 && second < 0x80;
  if (isNegative || isPadded) return undefined;
  const value = BigInt(`0x${Buffer.from(der.subarray(start + 2, end)).toString('hex')}`);
  return value > 0n && value < ORDER ? { value, end } : undefined;
}

/**
 * Converts a signature of a key service to the form of a transaction: `s` in the lower half, and the parity with
 * which the signer is recovered.
 *
 * @param digest - 32 bytes.
 * @param address - of the signer, in lower case.
 * @returns `undefined` if it is malformed, or not a signature of this digest by this signer.
 */
export function recoverableSignature(
  der: Uint8Array,
  digest: Uint8Array,
  address: Address,
): RecoverableSignature | undefined {
  const read = readDerSignature(der);
  if (read === undefined) return undefined;
  const lowS = read.s > ORDER / 2n ? ORDER - read.s : read.s;
  const [r, s] = [uintWord(read.r), uintWord(lowS)];
  const message = `0x${Buffer.from(digest).toString('hex')}` as const;
  const yParity = [0, 1].find(
    (parity) => recoverSigner(message, `0x${r}${s}0${parity}`) === address,
  );
  if (yParity === undefined) return undefined;
  return { r: Buffer.from(r, 'hex'), s: Buffer.from(s, 'hex'), yParity };
}

/**
 * The account of a public key of secp256k1.
 *
 * @param spki - `SubjectPublicKeyInfo` in DER, with an uncompressed point.
 * @returns `undefined` for another kind of key, and for a point that is not on the curve.
 */
export function addressOfSpki(spki: Uint8Array): Address | undefined {
  const head = spki.subarray(0, SPKI_HEAD.length);
  const point = spki.subarray(SPKI_HEAD.length);
  if (!SPKI_HEAD.equals(head) || point.length !== POINT_BYTES || point[0] !== 4) return undefined;
  try {
    noble.ProjectivePoint.fromHex(Uint8Array.from(point)).assertValidity();
  } catch {
    return undefined;
  }
  return `0x${keccak256Digits(point.subarray(1)).slice(24)}`;
}
