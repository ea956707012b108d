import { describe, expect, it } from '@jest/globals';
import type { WalletDirectory } from '../accounts/wallet-directory.js';
import type { Sessions } from '../auth/sessions.js';
import { GrantEnding } from './grant-ending.js';
import type { Grant, GrantStore } from './grant-store.js';
import type { OAuthRecords } from './oauth-records.js';

const GRANT: Grant = {
  id: 'grant',
  owner: '0x00000000000000000000000000000000000000aa',
  clientId: 'client',
  clientName: 'Client',
  redirectHost: 'app.example',
  scopes: ['wallet:read'],
  epoch: 0,
  createdAt: 1_800_000_000,
  expiresAt: 1_802_592_000,
};

describe('the end of a grant', () => {
  it('is on the record first, and leaves nothing of it where grants are kept', async () => {
    const steps: string[] = [];
    const step = (name: string): Promise<void> => {
      steps.push(name);
      return Promise.resolve();
    };
    const parts: {
      grants: Pick<GrantStore, 'find' | 'remove'>;
      records: Pick<OAuthRecords, 'remove'>;
      sessions: Pick<Sessions, 'revoke'>;
      directory: Pick<WalletDirectory, 'walletOf'>;
    } = {
      grants: {
        find: (id) => Promise.resolve(id === GRANT.id ? GRANT : undefined),
        remove: ({ id }) => step(`remove ${id}`),
      },
      records: { remove: (kind, id) => step(`remove ${kind} ${id}`) },
      sessions: { revoke: ({ tokenId }) => step(`revoke ${tokenId}`) },
      directory: {
        walletOf: () => Promise.resolve({ id: 'w', address: GRANT.owner }),
      },
    };
    const ending = new GrantEnding(
      parts.grants as GrantStore,
      parts.sessions as Sessions,
      parts.directory as WalletDirectory,
      parts.records as OAuthRecords,
    );
    await ending.endById('another');
    expect(steps).toEqual([]);
    await ending.endById('grant');
    expect(steps).toEqual(['revoke grant', 'remove Grant grant', 'remove grant']);
  });
});
