import { createHash, randomBytes } from 'node:crypto';
import type { Address, Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { STRICT_TYPES, strictDomain } from '../../src/hub/auth/strict-authorization.js';
import type { GivenHeaders } from './hub-world.js';

export interface StrictRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly hub: Address;
}

/** A signature over one request to a hub, good for a minute. */
export async function strictHeaders(
  account: PrivateKeyAccount,
  { method, path, body, hub }: StrictRequest,
): Promise<GivenHeaders> {
  const bodySha256: Hex = `0x${createHash('sha256').update(body).digest('hex')}`;
  const nonce: Hex = `0x${randomBytes(32).toString('hex')}`;
  const expiry = Math.floor(Date.now() / 1000) + 60;
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
