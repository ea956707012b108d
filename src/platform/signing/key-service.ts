/** A service that stores a key and signs with it, without giving out the key. */
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
 * - `throttled`: above the rate limit of the service.
 * - `unavailable`: no answer, or not in time.
 * - `refused`: the service refused: no permission, no such key, a disabled key.
 * - `bad_answer`: the answer is not a signature by the key.
 * - `wrong_key`: the key has another address.
 */
export type SignFailure = 'throttled' | 'unavailable' | 'refused' | 'bad_answer' | 'wrong_key';

/** The error of a key service, without its text. */
export class KeyServiceError extends Error {
  constructor(
    readonly failure: SignFailure,
    /** The error code of the service: letters, digits and `_`. */
    readonly code: string,
  ) {
    super(`The key service failed: ${failure}, ${code}.`);
    this.name = 'KeyServiceError';
  }
}

/** The part of an error name that is safe to repeat. */
export function codeOf(name: unknown): string {
  const text = typeof name === 'string' || typeof name === 'number' ? String(name) : '';
  return /^\w{1,64}$/.test(text) ? text : 'unnamed';
}
