import { createHash, randomBytes } from 'node:crypto';
import type { Address, Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import {
  STRICT_SCHEME,
  STRICT_TYPES,
  strictDomain,
  UPLOAD_TYPES,
} from '../src/protocol/hub/hub-messages.js';

const MINUTES_SECONDS = 600;

/** An owner of files at a hub that has a key of its own, as sellers have. */
export class HubOwner {
  constructor(
    /** Of the hub, without a path. */
    private readonly url: string,
    private readonly hub: Address,
    private readonly account: PrivateKeyAccount,
  ) {}

  /** Stores a file by an upload link. */
  async store(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const now = Math.floor(Date.now() / 1000);
    const link = {
      owner: this.account.address,
      name,
      maxBytes: bytes.length,
      contentType: '',
      sha256: sha256Of(bytes),
      issuedAt: now,
      until: now + MINUTES_SECONDS,
      nonce: newNonce(),
    };
    const message = {
      ...link,
      maxBytes: BigInt(link.maxBytes),
      issuedAt: BigInt(link.issuedAt),
      until: BigInt(link.until),
    };
    const signature = await this.account.signTypedData({
      domain: strictDomain(this.hub),
      types: UPLOAD_TYPES,
      primaryType: 'HubUpload',
      message,
    });
    const text = Buffer.from(JSON.stringify({ ...link, signature })).toString('base64url');
    await this.#ask('PUT', `/api/incoming?link=${text}`, bytes, {});
  }

  /** Puts a price on one; `offer` is the body of `PUT /api/price`. */
  async price(offer: object): Promise<void> {
    const [path, body] = ['/api/price', Buffer.from(JSON.stringify(offer))];
    const [owner, expiry] = [this.account.address, Math.floor(Date.now() / 1000) + MINUTES_SECONDS];
    const terms = { owner, bodySha256: sha256Of(body), nonce: newNonce() };
    const signature = await this.account.signTypedData({
      domain: strictDomain(this.hub),
      types: STRICT_TYPES,
      primaryType: 'HubRequest',
      message: { ...terms, method: 'PUT', path, expiry: BigInt(expiry) },
    });
    const text = Buffer.from(JSON.stringify({ ...terms, expiry, signature })).toString('base64url');
    await this.#ask('PUT', path, body, { authorization: `${STRICT_SCHEME} ${text}` });
  }

  async #ask(
    method: string,
    path: string,
    body: Uint8Array<ArrayBuffer>,
    headers: Readonly<Record<string, string>>,
  ): Promise<void> {
    const response = await fetch(this.url + path, { method, body, headers });
    if (!response.ok) throw new Error(`${method} ${path.slice(0, 20)}: ${response.status}`);
  }
}

function sha256Of(bytes: Uint8Array): Hex {
  return `0x${createHash('sha256').update(bytes).digest('hex')}`;
}

function newNonce(): Hex {
  return `0x${randomBytes(32).toString('hex')}`;
}
