import { createHash } from 'node:crypto';
import type { Address, Hex } from 'viem';
import { isEvmAddress } from '../../protocol/payment/wire-values.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/**
 * The canonical form of an owner: addresses in lower case, so that every spelling finds the same files; any other text
 * unchanged.
 */
export function canonicalOwner(owner: string): string {
  return isEvmAddress(owner) ? owner.toLowerCase() : owner;
}

/** The caller of a request, with the facts that the hub needs. */
export class Caller {
  private constructor(
    /** Lower case; absent without a signature. */
    readonly signer: Address | undefined,
    private readonly bodySha256: Hex | undefined,
  ) {}

  /** For a hub or a route that requires no signature. */
  static readonly anyone = new Caller(undefined, undefined);

  /** @param bodySha256 - the body hash in the signature, if it has one. */
  static signedBy(signer: Address, bodySha256?: Hex): Caller {
    return new Caller(signer, bodySha256);
  }

  /**
   * The owner of the request's files, in canonical form.
   *
   * @param owner - as sent; empty when absent.
   * @throws HubRefusal when the signer may not act for this owner.
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

  /** The same for a read, where the default owner is the signer. */
  ownerOfRead(owner: string): string {
    return this.signer !== undefined && owner === '' ? this.signer : this.ownerOf(owner);
  }

  /** @throws HubRefusal when the body is not the signed one. */
  assertBody(body: Uint8Array): void {
    if (this.bodySha256 === undefined) return;
    this.#assertDigest(createHash('sha256').update(body).digest('hex'));
  }

  /** The same for a stream: it ends with a refusal if the body is not the signed one. */
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
      throw HubRefusal.unauthorized('verify auth: the body differs from the signed body');
    }
  }
}
