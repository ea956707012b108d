import { createRequire } from 'node:module';
import type { secp256k1 } from '@noble/curves/secp256k1';
import type { Address, Hex } from 'viem';
import { keccak256Digits } from '../../protocol/evm/keccak.js';
import type { RecoverSigner } from '../../protocol/schemes/verdict.js';
import { loadNativeSecp256k1, type NativeSecp256k1 } from './native-secp256k1.js';

interface SignerRecovery {
  readonly implementation: 'native' | 'javascript';
  readonly recoverSigner: RecoverSigner;
}

/**
 * Recovers signers with libsecp256k1 if its native module loads (about 40 times faster), otherwise with noble. Both
 * give the same results; a test compares them.
 */
export function loadSignerRecovery(): SignerRecovery {
  const native = loadNativeSecp256k1();
  return native === undefined
    ? { implementation: 'javascript', recoverSigner: recoverSignerWithNoble }
    : { implementation: 'native', recoverSigner: recoverSignerWith(native) };
}

export function recoverSignerWith(native: Pick<NativeSecp256k1, 'ecdsaRecover'>): RecoverSigner {
  return (digest, signature) => {
    const parts = splitSignature(signature);
    if (parts === undefined) return undefined;
    const message = Buffer.from(digest.slice(2), 'hex');
    try {
      return addressOf(native.ecdsaRecover(parts.compact, parts.recoveryId, message, false));
    } catch {
      return undefined;
    }
  };
}

export const recoverSignerWithNoble: RecoverSigner = (digest, signature) => {
  const parts = splitSignature(signature);
  if (parts === undefined) return undefined;
  const { Signature } = loadNoble();
  try {
    const point = Signature.fromCompact(parts.compact)
      .addRecoveryBit(parts.recoveryId)
      .recoverPublicKey(digest.slice(2));
    return addressOf(point.toRawBytes(false));
  } catch {
    return undefined;
  }
};

type Noble = typeof secp256k1;

let noble: Noble | undefined;

/** Loaded on demand, which is rare, because it takes 5 MiB of the thread that recovers signers. */
function loadNoble(): Noble {
  if (noble !== undefined) return noble;
  const require = createRequire(import.meta.url);
  const loaded = require('@noble/curves/secp256k1') as { readonly secp256k1: Noble };
  return (noble = loaded.secp256k1);
}

/** r ‖ s and the recovery id; v may be 0, 1, 27 or 28 (as in the reference). */
function splitSignature(
  signature: Hex,
): { readonly compact: Uint8Array; readonly recoveryId: 0 | 1 } | undefined {
  if (signature.length !== 132) return undefined;
  const recoveryId = RECOVERY_IDS[signature.slice(130)];
  if (recoveryId === undefined) return undefined;
  // A new view, because noble requires a plain Uint8Array.
  return { compact: new Uint8Array(Buffer.from(signature.slice(2, 130), 'hex')), recoveryId };
}

const RECOVERY_IDS: Readonly<Record<string, 0 | 1>> = { '00': 0, '01': 1, '1b': 0, '1c': 1 };

/** The account of an uncompressed public key (0x04 ‖ x ‖ y). */
function addressOf(publicKey: Uint8Array): Address {
  return `0x${keccak256Digits(publicKey.subarray(1)).slice(24)}`;
}
