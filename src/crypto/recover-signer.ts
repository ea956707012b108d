import { createRequire } from 'node:module';
import { secp256k1 as noble } from '@noble/curves/secp256k1';
import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils';
import type { Address, Hex } from 'viem';
import type { RecoverSigner } from '../core/exact/verdict.js';

/** The one function used of the native `secp256k1` package (libsecp256k1). Throws on a bad signature. */
interface NativeSecp256k1 {
  ecdsaRecover(
    signature: Uint8Array,
    recoveryId: number,
    message: Uint8Array,
    isCompressed: boolean,
  ): Uint8Array;
}

export interface SignerRecovery {
  readonly implementation: 'native' | 'javascript';
  readonly recoverSigner: RecoverSigner;
}

/**
 * Recovery by libsecp256k1 where its prebuilt module loads (about 40 times faster), else by noble.
 * Both give the same answer for every input; a test compares them.
 */
export function loadSignerRecovery(): SignerRecovery {
  const native = loadNative();
  return native === undefined
    ? { implementation: 'javascript', recoverSigner: recoverSignerWithNoble }
    : { implementation: 'native', recoverSigner: recoverSignerWith(native) };
}

/** The package falls back to its own JavaScript silently; only its native binding is wanted here. */
function loadNative(): NativeSecp256k1 | undefined {
  const require = createRequire(import.meta.url);
  try {
    return require('secp256k1/bindings') as NativeSecp256k1;
  } catch {
    return undefined;
  }
}

export function recoverSignerWith(native: NativeSecp256k1): RecoverSigner {
  return (digest, signature) => {
    const parts = splitSignature(signature);
    if (parts === undefined) return undefined;
    try {
      return addressOf(
        native.ecdsaRecover(parts.compact, parts.recoveryId, hexToBytes(digest.slice(2)), false),
      );
    } catch {
      return undefined;
    }
  };
}

export const recoverSignerWithNoble: RecoverSigner = (digest, signature) => {
  const parts = splitSignature(signature);
  if (parts === undefined) return undefined;
  try {
    const point = noble.Signature.fromCompact(parts.compact)
      .addRecoveryBit(parts.recoveryId)
      .recoverPublicKey(digest.slice(2));
    return addressOf(point.toRawBytes(false));
  } catch {
    return undefined;
  }
};

/** r ‖ s and the recovery id; v may be 0, 1, 27 or 28 (as in the reference). */
function splitSignature(
  signature: Hex,
): { readonly compact: Uint8Array; readonly recoveryId: 0 | 1 } | undefined {
  if (signature.length !== 132) return undefined;
  const recoveryId = RECOVERY_IDS[signature.slice(130)];
  if (recoveryId === undefined) return undefined;
  return { compact: hexToBytes(signature.slice(2, 130)), recoveryId };
}

const RECOVERY_IDS: Readonly<Record<string, 0 | 1>> = { '00': 0, '01': 1, '1b': 0, '1c': 1 };

/** The account of an uncompressed public key (0x04 ‖ x ‖ y). */
function addressOf(publicKey: Uint8Array): Address {
  return `0x${bytesToHex(keccak_256(publicKey.subarray(1)).subarray(12))}`;
}
