import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { strictDomain } from '../../src/hub/auth/strict-authorization.js';
import { LINK_TYPES, type ShareLink } from '../../src/hub/links/share-link.js';
import { ANY_CONTENT } from '../../src/hub/links/signed-link.js';
import { HUB_ADDRESS } from './hub-world.js';
import { randomWord } from './strict-signature.js';

/** As an owner makes a share link: nothing is asked of the hub. Good for ten minutes. */
export async function shareLinkOf(
  account: PrivateKeyAccount,
  name: string,
  more: Partial<ShareLink> & { readonly hub?: Address } = {},
): Promise<string> {
  const { hub = HUB_ADDRESS, ...rest } = more;
  const now = Math.floor(Date.now() / 1000);
  const link: ShareLink = {
    owner: account.address,
    name,
    sha256: ANY_CONTENT,
    issuedAt: now,
    until: now + 600,
    once: false,
    nonce: randomWord(),
    ...rest,
  };
  const signature = await account.signTypedData({
    domain: strictDomain(hub),
    types: LINK_TYPES,
    primaryType: 'HubLink',
    message: { ...link, issuedAt: BigInt(link.issuedAt), until: BigInt(link.until) },
  });
  return Buffer.from(JSON.stringify({ ...link, signature })).toString('base64url');
}
