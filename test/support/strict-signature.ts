import { createHash, randomBytes } from 'node:crypto';
import type { Address, Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { STRICT_TYPES, strictDomain } from '../../src/hub/auth/strict-authorization.js';
import { type GivenHeaders, HUB_ADDRESS } from './hub-world.js';

interface StrictRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body?: string;
  /** That of the worlds of tests if absent. */
  readonly hub?: Address;
  /** Unix seconds; in a minute if absent. */
  readonly expiry?: number;
}

/** 32 random bytes, never used before. */
export const randomWord = (): Hex => `0x${randomBytes(32).toString('hex')}`;

/** A signature over one request to a hub. */
export async function strictHeaders(
  account: PrivateKeyAccount,
  { method, path, body = '', hub = HUB_ADDRESS, ...more }: StrictRequest,
): Promise<GivenHeaders> {
  const bodySha256: Hex = `0x${createHash('sha256').update(body).digest('hex')}`;
  const nonce = randomWord();
  const { expiry = Math.floor(Date.now() / 1000) + 60 } = more;
  const owner = account.address;
  const signature = await account.signTypedData({
    domain: strictDomain(hub),
    types: STRICT_TYPES,
    primaryType: 'HubRequest',
    message: { method, path, owner, bodySha256, expiry: BigInt(expiry), nonce },
  });
  const parts = JSON.stringify({ owner, bodySha256, expiry, nonce, signature });
  return { authorization: `Hub-EIP712 ${Buffer.from(parts).toString('base64url')}` };
}
