import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { strictDomain } from '../../src/hub/auth/strict-authorization.js';
import { ANY_CONTENT } from '../../src/hub/links/signed-link.js';
import { UPLOAD_TYPES, type UploadLink } from '../../src/hub/links/upload-link.js';
import { HUB_ADDRESS } from './hub-world.js';
import { randomWord } from './strict-signature.js';

/** As an owner makes an upload link: nothing is asked of the hub. Good for ten minutes and a MiB. */
export async function uploadLinkOf(
  account: PrivateKeyAccount,
  name: string,
  more: Partial<UploadLink> & { readonly hub?: Address } = {},
): Promise<string> {
  const { hub = HUB_ADDRESS, ...rest } = more;
  const now = Math.floor(Date.now() / 1000);
  const link: UploadLink = {
    owner: account.address,
    name,
    maxBytes: 1_048_576,
    contentType: '',
    sha256: ANY_CONTENT,
    issuedAt: now,
    until: now + 600,
    nonce: randomWord(),
    ...rest,
  };

  const signature = await account.signTypedData({
    domain: strictDomain(hub),
    types: UPLOAD_TYPES,
    primaryType: 'HubUpload',
    message: {
      ...link,
      maxBytes: BigInt(link.maxBytes),
      issuedAt: BigInt(link.issuedAt),
      until: BigInt(link.until),
    },
  });
  return Buffer.from(JSON.stringify({ ...link, signature })).toString('base64url');
}
