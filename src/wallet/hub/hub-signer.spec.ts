import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { type Address, type Hex, keccak256, toHex } from 'viem';
import { privateKeyToAccount, sign } from 'viem/accounts';
import { readStrictAuthorization, verifyStrict } from '../../hub/auth/strict-authorization.js';
import { readShareLink, verifyShareLink } from '../../hub/links/share-link.js';
import { readUploadLink, verifyUploadLink } from '../../hub/links/upload-link.js';
import { loadSignerRecovery } from '../../platform/crypto/recover-signer.js';
import { digestOf } from '../rules/typed-data-digest.js';
import type { Session } from '../session.js';
import { HubSigner } from './hub-signer.js';

const KEY = keccak256(toHex('a test key'));
const owner = privateKeyToAccount(KEY).address.toLowerCase() as Address;
const hub: Address = '0x00000000000000000000000000000000000000cc';
const NOW = 1_800_000_000;
const { recoverSigner: recover } = loadSignerRecovery();
const session = {
  owner,
  wallet: { id: 'w', address: owner },
  tokenId: 'a',
  generation: 7,
} as Session;

/** A signer whose authorizer writes down what it was asked. */
function signerWith(admitted: object[] = [], isStopped = false): HubSigner {
  const authorizer = {
    admit: (_: Session, asked: object): Promise<void> => {
      admitted.push(asked);
      return isStopped ? Promise.reject(new Error('stopped')) : Promise.resolve();
    },
  };
  const signer = {
    signAuthorized: (_: Session, typedData: Parameters<typeof digestOf>[0]): Promise<Hex> =>
      sign({ hash: digestOf(typedData) ?? '0x', privateKey: KEY, to: 'hex' }),
  };
  return new HubSigner(authorizer, signer, hub, () => NOW);
}

describe('what a wallet signs for the hub', () => {
  it('is a request as the hub takes it: this one, and no other', async () => {
    const request = { method: 'GET', path: '/api/download?owner=0x&name=a+b' } as const;
    const header = await signerWith().request(session, request);
    const authorization = readStrictAuthorization(header);
    if (typeof authorization !== 'object') throw new Error('the hub reads it');
    expect(authorization.bodySha256).toBe(`0x${createHash('sha256').digest('hex')}`);
    expect(verifyStrict(authorization, request, hub, recover, NOW)).toEqual({
      isValid: true,
      signer: owner,
    });
    for (const other of [
      { ...request, method: 'DELETE' },
      { ...request, path: '/api/download?owner=0x&name=b' },
    ]) {
      expect(verifyStrict(authorization, other, hub, recover, NOW).isValid).toBe(false);
    }
    expect(verifyStrict(authorization, request, owner, recover, NOW).isValid).toBe(false);
    expect(verifyStrict(authorization, request, hub, recover, NOW + 121).isValid).toBe(false);
  });

  it('is a share link, and an upload link, as the hub takes them', async () => {
    const verdictOf = { hub, recover, now: NOW };
    const sha256 = 'ab'.repeat(32);
    const shared = await signerWith().share(session, {
      name: 'a',
      sha256,
      seconds: 60,
      once: true,
    });
    const share = readShareLink(shared.text);
    expect(share).toMatchObject({ owner, name: 'a', sha256: `0x${sha256}`, once: true });
    expect(share && verifyShareLink(share, verdictOf)).toEqual({ kind: 'good' });
    expect(share && verifyShareLink(share, { ...verdictOf, now: shared.until })).toEqual({
      kind: 'over',
    });
    const { text } = await signerWith().upload(session, {
      name: 'a',
      seconds: 60,
      maxBytes: 9,
      contentType: 'text/plain',
    });
    const upload = readUploadLink(text);
    expect(upload).toMatchObject({ maxBytes: 9, contentType: 'text/plain' });
    expect(upload && verifyUploadLink(upload, verdictOf)).toEqual({ kind: 'good' });
    expect(upload && verifyUploadLink({ ...upload, maxBytes: 10 }, verdictOf)).toMatchObject({
      kind: 'bad',
    });
  });

  it('passes the rules first: only looking is done without being asked about', async () => {
    const admitted: object[] = [];
    const signer = signerWith(admitted);
    await signer.request(session, { method: 'HEAD', path: '/' });
    await signer.request(session, { method: 'DELETE', path: '/' });
    await signer.share(session, { name: 'a', seconds: 60, once: false });
    await signer.upload(session, { name: 'a', seconds: 60, maxBytes: 1, contentType: '' });
    expect(admitted).toMatchObject([
      { what: 'hub_request', isReading: true },
      { what: 'hub_request', isReading: false },
      { what: 'hub_link', isReading: false },
      { what: 'hub_link', isReading: false },
    ]);
    const stopped = signerWith([], true);
    const refused = stopped.share(session, { name: 'a', seconds: 60, once: false });
    await expect(refused).rejects.toThrow('stopped');
  });

  it('is never twice the same', async () => {
    const signer = signerWith();
    const request = { method: 'GET', path: '/' } as const;
    const headers = await Promise.all([1, 2].map(() => signer.request(session, request)));
    expect(new Set(headers).size).toBe(2);
  });
});
