import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { loadSignerRecovery } from '../../platform/crypto/recover-signer.js';
import { strictDomain } from '../auth/strict-authorization.js';
import { LINK_TYPES, readShareLink } from './share-link.js';
import { ANY_CONTENT } from './signed-link.js';
import {
  readUploadLink,
  type SignedUploadLink,
  UPLOAD_LIFETIME_MAX_SECONDS,
  UPLOAD_TYPES,
  type UploadLink,
  verifyUploadLink,
} from './upload-link.js';

const HUB: Address = `0x${'11'.repeat(20)}`;
const owner = privateKeyToAccount(`0x${'07'.repeat(32)}`);
const { recoverSigner } = loadSignerRecovery();
const NOW = 1_800_000_000;
const plain: UploadLink = {
  owner: owner.address.toLowerCase() as Address,
  name: 'Bericht №7.txt',
  maxBytes: 1000,
  contentType: 'text/plain',
  sha256: ANY_CONTENT,
  issuedAt: NOW,
  until: NOW + 3600,
  nonce: `0x${'ab'.repeat(32)}`,
};

async function signed(link: UploadLink): Promise<SignedUploadLink> {
  const { maxBytes, issuedAt, until } = link;
  const signature = await owner.signTypedData({
    domain: strictDomain(HUB),
    types: UPLOAD_TYPES,
    primaryType: 'HubUpload',
    message: {
      ...link,
      maxBytes: BigInt(maxBytes),
      issuedAt: BigInt(issuedAt),
      until: BigInt(until),
    },
  });
  return { ...link, signature };
}

const textOf = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const result = (link: SignedUploadLink, now = NOW): string =>
  verifyUploadLink(link, { hub: HUB, recover: recoverSigner, now }).kind;

describe('an upload link', () => {
  it('is read and found good as its owner signed it', async () => {
    const link = await signed(plain);
    expect(readUploadLink(textOf({ ...link, owner: owner.address }))).toEqual(link);
    expect([result(link), result(link, plain.until)]).toEqual(['good', 'over']);
  });

  it('is for any bytes of any type where it names none', async () => {
    const link = await signed({ ...plain, contentType: '' });
    const less = { ...link, contentType: undefined, sha256: undefined };
    expect(readUploadLink(textOf(less))).toEqual(link);
  });

  const others: readonly (readonly [keyof UploadLink, unknown])[] = [
    ...([
      ['owner', `0x${'22'.repeat(20)}`],
      ['name', 'another'],
      ['maxBytes', 1001],
      ['contentType', 'text/html'],
    ] as const),
    ['sha256', `0x${'01'.repeat(32)}`],
    ['issuedAt', NOW - 1],
    ['until', NOW + 3601],
    ['nonce', `0x${'ac'.repeat(32)}`],
  ];
  it.each(others)('is worth nothing with another %s than was signed', async (field, value) => {
    expect(result({ ...(await signed(plain)), [field]: value })).toBe('bad');
  });

  it('is good for no longer than is remembered', async () => {
    const longest = { ...plain, until: NOW + UPLOAD_LIFETIME_MAX_SECONDS };
    expect(result(await signed(longest))).toBe('good');
    expect(result(await signed({ ...longest, until: longest.until + 1 }))).toBe('bad');
  });

  it('is read of its own form alone', async () => {
    const link = await signed(plain);
    for (const change of [
      { more: 1 },
      { maxBytes: 0 },
      { maxBytes: 1.5 },
      { maxBytes: '9' },
      { maxBytes: 2 ** 60 },
      { contentType: 'text' },
      { contentType: 'text/html;a=b' },
      { contentType: 'Text/HTML' },
      { contentType: `a/${'b'.repeat(64)}` },
      { name: '' },
      { nonce: '0x1' },
      { until: '9' },
    ]) {
      expect([change, readUploadLink(textOf({ ...link, ...change }))]).toEqual([change, undefined]);
    }
  });

  it('is no share link, and no share link is one', async () => {
    const link = await signed(plain);
    expect(readShareLink(textOf(link))).toBeUndefined();
    expect(Object.keys(LINK_TYPES)).not.toEqual(Object.keys(UPLOAD_TYPES));
  });
});
