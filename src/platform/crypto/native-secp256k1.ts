import { createRequire } from 'node:module';

/** The functions used of the native `secp256k1` package (libsecp256k1). They throw on bad input. */
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
 * `undefined` where the prebuilt module does not load. The package would fall back to JavaScript of its
 * own silently; only its native binding is wanted here.
 */
export function loadNativeSecp256k1(): NativeSecp256k1 | undefined {
  try {
    return createRequire(import.meta.url)('secp256k1/bindings') as NativeSecp256k1;
  } catch {
    return undefined;
  }
}
