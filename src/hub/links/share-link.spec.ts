import { describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { loadSignerRecovery } from '../../platform/crypto/recover-signer.js';
import { strictDomain } from '../auth/strict-authorization.js';
import {
  LINK_LIFETIME_MAX_SECONDS,
  LINK_TYPES,
  readShareLink,
  type ShareLink,
  type SignedShareLink,
  verifyShareLink,
} from './share-link.js';
import { ANY_CONTENT, LINK_MAX_LENGTH } from './signed-link.js';

const HUB: Address = `0x${'11'.repeat(20)}`;
const owner = privateKeyToAccount(`0x${'07'.repeat(32)}`);
const { recoverSigner } = loadSignerRecovery();
const NOW = 1_800_000_000;
const plain: ShareLink = {
  owner: owner.address.toLowerCase() as Address,
  name: 'Bericht №7.txt',
  sha256: ANY_CONTENT,
  issuedAt: NOW,
  until: NOW + 3600,
  once: false,
  nonce: `0x${'ab'.repeat(32)}`,
};

async function signed(link: ShareLink, hub = HUB): Promise<SignedShareLink> {
  const signature = await owner.signTypedData({
    domain: strictDomain(hub),
    types: LINK_TYPES,
    primaryType: 'HubLink',
    message: { ...link, issuedAt: BigInt(link.issuedAt), until: BigInt(link.until) },
  });
  return { ...link, signature };
}

const textOf = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const result = (link: SignedShareLink, now = NOW): string =>
  verifyShareLink(link, { hub: HUB, recover: recoverSigner, now }).kind;

describe('a share link', () => {
  it('is read and found good as its owner signed it, with addresses in any case', async () => {
    const link = await signed(plain);
    const read = readShareLink(textOf({ ...link, owner: owner.address }));
    expect(read).toEqual(link);
    expect(result(link)).toBe('good');
  });

  it('names the file that an upload with half of a surrogate pair has stored', async () => {
    const link = await signed({ ...plain, name: 'a\ud800' });
    const read = readShareLink(textOf(link));
    expect(read).toEqual({ ...link, name: 'a\ufffd' });
    expect(result({ ...link, name: 'a\ufffd' })).toBe('good');
  });

  it('is for the newest of the name where it names no content', async () => {
    const link = await signed(plain);
    expect(readShareLink(textOf({ ...link, sha256: undefined }))?.sha256).toBe(ANY_CONTENT);
  });

  const others: readonly (readonly [keyof ShareLink, unknown])[] = [
    ['owner', `0x${'22'.repeat(20)}`],
    ['name', 'another'],
    ['sha256', `0x${'01'.repeat(32)}` satisfies Hex],
    ['issuedAt', NOW - 1],
    ['until', NOW + 3601],
    ['once', true],
    ['nonce', `0x${'ac'.repeat(32)}` satisfies Hex],
  ];
  it.each(others)('is worth nothing with another %s than was signed', async (field, value) => {
    const link = await signed(plain);
    expect(result({ ...link, [field]: value })).toBe('bad');
  });

  it('is worth nothing at another hub', async () => {
    expect(result(await signed(plain, `0x${'12'.repeat(20)}`))).toBe('bad');
  });

  it('is over at its second, and says so only of a link of its owner', async () => {
    const link = await signed(plain);
    expect(result(link, plain.until - 1)).toBe('good');
    expect(result(link, plain.until)).toBe('over');
    expect(result({ ...link, name: 'another' }, plain.until)).toBe('bad');
  });

  it('is good for no longer than is remembered, and not of a later time', async () => {
    const longest = { ...plain, until: NOW + LINK_LIFETIME_MAX_SECONDS };
    expect(result(await signed(longest))).toBe('good');
    expect(result(await signed({ ...longest, until: longest.until + 1 }))).toBe('bad');
    const later = { ...plain, issuedAt: NOW + 301, until: NOW + 3600 };
    expect(result(await signed(later))).toBe('bad');
    expect(result(await signed({ ...later, issuedAt: NOW + 300 }))).toBe('good');
  });

  it('is read of its own form alone', async () => {
    const link = await signed(plain);
    for (const text of [
      '',
      'zzz',
      textOf([]),
      textOf({}),
      'a'.repeat(LINK_MAX_LENGTH + 1),
      textOf({ ...link, more: 1 }),
      textOf({ ...link, once: 'true' }),
      textOf({ ...link, until: '9' }),
      textOf({ ...link, until: 1.5 }),
      textOf({ ...link, nonce: '0x1' }),
      textOf({ ...link, name: '' }),
      textOf({ ...link, until: 2 ** 60 }),
      textOf({ ...link, signature: 'f'.repeat(201) }),
    ]) {
      expect(readShareLink(text)).toBeUndefined();
    }
  });

  it('takes no signature that is not one of 65 bytes', async () => {
    const link = await signed(plain);
    expect(result({ ...link, signature: `${link.signature}00` })).toBe('bad');
    expect(result({ ...link, signature: '0x' })).toBe('bad');
  });
});
