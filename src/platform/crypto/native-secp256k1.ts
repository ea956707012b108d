import { createRequire } from 'node:module';

/** The used functions of the native package `secp256k1` (libsecp256k1). They throw on invalid input. */
export interface NativeSecp256k1 {
  ecdsaRecover(
    signature: Uint8Array,
    recoveryId: number,
    message: Uint8Array,
    isCompressed: boolean,
  ): Uint8Array;
  ecdsaSign(
    message: Uint8Array,
    privateKey: Uint8Array,
  ): { readonly signature: Uint8Array; readonly recid: number };
}

/**
 * `undefined` if the native module does not load. The package would silently fall back to its own JavaScript, which
 * this service does not want.
 */
export function loadNativeSecp256k1(): NativeSecp256k1 | undefined {
  try {
    return createRequire(import.meta.url)('secp256k1/bindings') as NativeSecp256k1;
  } catch {
    return undefined;
  }
}
