import { createHash } from 'node:crypto';
import type { Address, Hex } from 'viem';
import { isEvmAddress } from '../../protocol/payment/wire-values.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/**
 * The one form of an owner: addresses in lower case, so that what was written under one spelling is found
 * under every other; any other text as it is.
 */
export function canonicalOwner(owner: string): string {
  return isEvmAddress(owner) ? owner.toLowerCase() : owner;
}

/** Who asks, as far as the hub wants to know. */
export class Caller {
  private constructor(
    /** Lower case; absent without a signature. */
    readonly signer: Address | undefined,
    private readonly bodySha256: Hex | undefined,
  ) {}

  /** Of a hub, or a route, that requires no signature. */
  static readonly anyone = new Caller(undefined, undefined);

  /** @param bodySha256 - that the signature is bound to, if it is. */
  static signedBy(signer: Address, bodySha256?: Hex): Caller {
    return new Caller(signer, bodySha256);
  }

  /**
   * The owner a request is about, in its one form.
   *
   * @param owner - as sent; empty when it was left out.
   * @throws HubRefusal when the signer may not speak for it.
   */
  ownerOf(owner: string): string {
    if (this.signer === undefined) return canonicalOwner(owner);
    if (!isEvmAddress(owner)) {
      throw HubRefusal.unauthorized('owner must be a 0x-prefixed Ethereum address');
    }
    if (owner.toLowerCase() !== this.signer) {
      throw HubRefusal.unauthorized(`owner ${owner} does not match signer ${this.signer}`);
    }
    return this.signer;
  }

  /** The same for a read, where an owner that was left out is the signer. */
  ownerOfRead(owner: string): string {
    return this.signer !== undefined && owner === '' ? this.signer : this.ownerOf(owner);
  }

  /** @throws HubRefusal when the body is not the one that was signed. */
  assertBody(body: Uint8Array): void {
    if (this.bodySha256 === undefined) return;
    this.#assertDigest(createHash('sha256').update(body).digest('hex'));
  }

  /** The same for a body that is not in memory: the stream ends with a refusal in place of its end. */
  async *bodyChecked(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    if (this.bodySha256 === undefined) {
      yield* pieces;
      return;
    }
    const hash = createHash('sha256');
    for await (const piece of pieces) {
      hash.update(piece);
      yield piece;
    }
    this.#assertDigest(hash.digest('hex'));
  }

  #assertDigest(hex: string): void {
    if (this.bodySha256 !== `0x${hex}`) {
      throw HubRefusal.unauthorized('verify auth: the body is not the one that was signed');
    }
  }
}
