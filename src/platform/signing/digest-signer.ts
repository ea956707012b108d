import type { Address, Hex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import type { Secret } from '../config/secret.js';
import { type RecoverableSignature, signDigest } from '../crypto/sign-transaction.js';

/** Signs for one account, with a local key or a key service. */
export interface DigestSigner {
  /** Lower case. */
  readonly address: Address;
  /** Whether the signer can probably sign now. */
  readonly isAvailable: boolean;

  /**
   * Checks, as far as possible within its time limit, that the key belongs to the address.
   *
   * @throws StartError if the key provably has another address.
   */
  start(): Promise<void>;

  /**
   * @param digest - 32 bytes.
   * @returns `undefined` if it cannot sign now. Two signatures of one digest may differ.
   */
  sign(digest: Uint8Array): Promise<RecoverableSignature | undefined>;
}

/** A signer with a key in this process. */
export class LocalSigner implements DigestSigner {
  readonly address: Address;
  readonly isAvailable = true;
  readonly #key: Uint8Array;

  constructor(key: Secret<Hex>) {
    this.address = privateKeyToAddress(key.reveal()).toLowerCase() as Address;
    this.#key = Buffer.from(key.reveal().slice(2), 'hex');
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  sign(digest: Uint8Array): Promise<RecoverableSignature> {
    return Promise.resolve(signDigest(digest, this.#key));
  }
}
