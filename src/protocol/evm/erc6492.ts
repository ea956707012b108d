import { type Address, type Hex, zeroAddress } from 'viem';

/** ERC-6492: the last 32 bytes of a wrapped signature. */
const MAGIC = '6492649264926492649264926492649264926492649264926492649264926492';
const WORD = 64;

/** How a wallet that is not on the chain yet is deployed. The payer chooses both values. */
export interface Deployment {
  /** Lower case. */
  readonly factory: Address;
  readonly data: Hex;
}

/** A wallet's signature, with the deployment of the wallet. */
export interface WrappedSignature {
  readonly deployment: Deployment;
  /** The signature inside the wrapper, which the wallet itself verifies. */
  readonly inner: Hex;
}

/**
 * - `malformed`: it ends with the magic bytes of ERC-6492, but its content cannot be decoded.
 * - `nested`: the wrapper holds another wrapper. No wallet makes one, and each would run another factory.
 */
export type BrokenWrapper = 'malformed' | 'nested';

/**
 * Unwraps `abi.encode(address factory, bytes factoryCalldata, bytes signature) ‖ magic` (ERC-6492).
 *
 * @param signature - lower case.
 * @returns `undefined` for any other signature; one with the zero factory is not a wrapper, as in the reference.
 */
export function unwrapErc6492(signature: Hex): WrappedSignature | BrokenWrapper | undefined {
  const digits = signature.slice(2);
  if (!digits.endsWith(MAGIC)) return undefined;
  const body = digits.slice(0, -MAGIC.length);
  if (body.length < 3 * WORD) return 'malformed';
  const factory: Address = `0x${body.slice(24, WORD)}`;
  const data = readBytesAt(body, body.slice(WORD, 2 * WORD));
  const inner = readBytesAt(body, body.slice(2 * WORD, 3 * WORD));
  if (data === undefined || inner === undefined) return 'malformed';
  if (factory === zeroAddress) return undefined;
  return inner.endsWith(MAGIC) ? 'nested' : { deployment: { factory, data }, inner };
}

/**
 * The part of a signature that the payer's wallet made. The wrapper is not signed: anyone who saw the payment can wrap
 * the same signature differently.
 */
export function innerSignatureOf(signature: Hex): Hex {
  const wrapped = unwrapErc6492(signature);
  return typeof wrapped === 'object' ? wrapped.inner : signature;
}

/** Reads the ABI `bytes` value whose offset is given in one word. */
function readBytesAt(body: string, offsetWord: string): Hex | undefined {
  const start = Number.parseInt(offsetWord, 16) * 2;
  const length = Number.parseInt(body.slice(start, start + WORD), 16) * 2;
  const content = body.slice(start + WORD, start + WORD + length);
  return Number.isSafeInteger(length) && content.length === length ? `0x${content}` : undefined;
}
