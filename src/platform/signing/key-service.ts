/** A service that keeps a key and signs with it: it never gives the key out. */
export interface KeyService {
  /**
   * @returns `SubjectPublicKeyInfo`, DER.
   * @throws KeyServiceError
   */
  publicKey(signal: AbortSignal): Promise<Uint8Array>;

  /**
   * @param digest - 32 bytes.
   * @returns `Ecdsa-Sig-Value`, DER.
   * @throws KeyServiceError
   */
  sign(digest: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
}

/**
 * - `throttled`: more was asked than it allows.
 * - `unavailable`: it did not answer, or not in time.
 * - `refused`: it answered that it will not: no right, no such key, a key that is turned off.
 * - `bad_answer`: what it answered is no signature by the key.
 * - `wrong_key`: its key is that of another address.
 */
export type SignFailure = 'throttled' | 'unavailable' | 'refused' | 'bad_answer' | 'wrong_key';

/** The error of a key service; its text is dropped. */
export class KeyServiceError extends Error {
  constructor(
    readonly failure: SignFailure,
    /** The name that the service gives it: letters, digits and `_`. */
    readonly code: string,
  ) {
    super(`The key service failed: ${failure}, ${code}.`);
    this.name = 'KeyServiceError';
  }
}

/** The name of an error as far as it may be repeated. */
export function codeOf(name: unknown): string {
  const text = typeof name === 'string' || typeof name === 'number' ? String(name) : '';
  return /^\w{1,64}$/.test(text) ? text : 'unnamed';
}
