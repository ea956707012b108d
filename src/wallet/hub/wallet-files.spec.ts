import { describe, expect, it } from '@jest/globals';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import type { HubClient } from './hub-client.js';
import type { HubSigner } from './hub-signer.js';
import { WalletFiles } from './wallet-files.js';

const SESSION: Session = {
  owner: '0x00000000000000000000000000000000000000aa',
  wallet: { id: 'w', address: '0x00000000000000000000000000000000000000bb' },
  role: 'agent',
  tokenId: 'token',
  expiresAt: 1_800_000_900,
  generation: 0,
};

describe('links that are all taken back', () => {
  /** @param refusals - the hub's refusal for each path; without one it revokes the link. */
  const takeAllBack = async (refusals: Readonly<Record<string, WalletError>>) => {
    const asked: string[] = [];
    const client: Pick<HubClient, 'revoke'> = {
      revoke: (_, path) => {
        asked.push(path);
        const refusal = refusals[path];
        return refusal === undefined ? Promise.resolve() : Promise.reject(refusal);
      },
    };
    const hub = { client: client as HubClient, signer: Object.create(null) as HubSigner };
    const answer = await new WalletFiles(hub, 1, SESSION)
      .unshare({ link: 'all' })
      .catch((error: unknown) => error);
    return { asked, answer };
  };
  const BOTH = ['/api/shared', '/api/incoming'];

  it('are those of both kinds', async () => {
    expect(await takeAllBack({})).toEqual({ asked: BOTH, answer: { takenBack: 'all' } });
  });

  it.each(['not_found', 'forbidden', 'fetch_failed'] as const)(
    'are not said to be where the hub says %s to one kind, and the other is asked',
    async (code) => {
      const refusal = new WalletError(code, 'no');
      for (const path of BOTH) {
        expect(await takeAllBack({ [path]: refusal })).toEqual({ asked: BOTH, answer: refusal });
      }
    },
  );
});

describe('a file that is put as base64', () => {
  /** @returns the bytes that reached the hub, or the refusal. */
  const put = async (content: string): Promise<unknown> => {
    const stored: string[] = [];
    const client: Pick<HubClient, 'put'> = {
      put: (_text, _type, bytes) => {
        stored.push((bytes as Buffer).toString());
        return Promise.reject(new WalletError('fetch_failed', 'it was sent'));
      },
    };
    const signer = { upload: () => Promise.resolve({ text: 'signed' }) } as unknown as HubSigner;
    const files = new WalletFiles({ client: client as HubClient, signer }, 1, SESSION);
    const refused = await files
      .put({ name: 'a', content, encoding: 'base64' })
      .catch((error: unknown) => error);
    return stored[0] ?? (refused as WalletError).code;
  };

  it.each(['aGVsbG8=', 'aGVsbG8', 'aGVsbG8=='])('may be padded or not: %s', async (content) => {
    expect(await put(content)).toBe('hello');
  });

  it.each([
    ['no base64', 'aGV sbG8'],
    ['of another alphabet', '-_-_'],
    ['cut off', 'aGVsbG9='],
    ['padding alone', '===='],
    // A pattern for the padding would start again at each of them, and take minutes.
    ['as much padding as fits', `${'='.repeat(262_143)}x`],
    ['padding in the middle', `aGVs${'='.repeat(262_000)}bG8=`],
  ])('is refused where it is %s', async (_, content) => {
    expect(await put(content)).toBe('invalid_request');
  });
});
