import type { Address, Hex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import type { Secret } from '../config/secret.js';
import { type RecoverableSignature, signDigest } from '../crypto/sign-transaction.js';

/** Signs for one account, wherever its key is kept. */
export interface DigestSigner {
  /** Lower case. */
  readonly address: Address;
  /** Whether it is worth asking now. */
  readonly isAvailable: boolean;

  /**
   * Makes sure that it signs for its address, as far as that can be checked within its time.
   *
   * @throws StartError when its key is proved to be that of another address.
   */
  start(): Promise<void>;

  /**
   * @param digest - 32 bytes.
   * @returns `undefined` when it cannot sign now. Two signatures of one digest may differ.
   */
  sign(digest: Uint8Array): Promise<RecoverableSignature | undefined>;
}

/** With a key that this process has. */
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
