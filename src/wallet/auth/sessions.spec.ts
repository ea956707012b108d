import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import type { WalletDirectory } from '../accounts/wallet-directory.js';
import type { WalletStore } from '../accounts/wallet-store.js';
import type { Journal } from '../audit/journal.js';
import type { CustodialWallet } from '../provider/wallet-provider.js';
import { WalletError } from '../wallet-error.js';
import { Sessions } from './sessions.js';
import type { TokenIssuer } from './token.js';

const HOME = '203.0.113.9';
const OWNER: Address = '0x00000000000000000000000000000000000000aa';
const WALLET: CustodialWallet = { id: 'w', address: '0x00000000000000000000000000000000000000bb' };

/** Sessions over a directory without wallets, and what they did. */
function setUp(): { sessions: Sessions; made: Address[]; recorded: unknown[]; listed: string[] } {
  const [made, recorded, listed]: [Address[], unknown[], string[]] = [[], [], []];
  const directory: Pick<WalletDirectory, 'find' | 'walletOf' | 'walletFor' | 'policyOf'> = {
    find: () => Promise.resolve(made.length > 0 ? WALLET : undefined),
    walletOf: (owner) => {
      made.push(owner);
      return Promise.resolve(WALLET);
    },
    walletFor: (owner, address) => {
      if (address !== HOME) return Promise.reject(new WalletError('rate_limited', 'Too many.'));
      return directory.walletOf(owner);
    },
    policyOf: () => Promise.resolve({} as Awaited<ReturnType<WalletDirectory['policyOf']>>),
  };
  const claims = { id: 'token', owner: OWNER, role: 'owner', issuedAt: 100, expiresAt: 1000 };
  const sessions = new Sessions(
    {
      issue: () => Promise.resolve({ token: 'a.b.c', claims }),
      read: () => Promise.resolve(claims),
    } as unknown as TokenIssuer,
    directory as WalletDirectory,
    { tokensNotBefore: () => Promise.resolve(0) } satisfies Partial<WalletStore> as never,
    {
      append: (event) => {
        recorded.push(event);
        return Promise.resolve();
      },
    } satisfies Partial<Journal> as never,
    { exists: () => Promise.resolve(0) } as never,
    {
      note: (_: string, tokens: readonly { readonly id: string }[]) => {
        listed.push(...tokens.map(({ id }) => id));
        return Promise.resolve();
      },
      noteUse: () => Promise.resolve(),
    } as never,
    undefined,
    { tokenTtlSeconds: 60, owners: undefined },
    () => 100,
  );
  return { sessions, made, recorded, listed };
}

describe('sign-ins of strangers', () => {
  it('make no wallet', async () => {
    const { sessions, made, recorded } = setUp();
    expect(await sessions.issue(OWNER, 'owner', { by: 'nonce', askedAt: 100 })).toBe('a.b.c');
    expect(made).toEqual([]);
    expect(recorded).toEqual([]);
  });

  it('are on the record of the wallet that their first use makes, once', async () => {
    const { sessions, made, recorded, listed } = setUp();
    const session = await sessions.of('Bearer a.b.c', HOME);
    await sessions.of('Bearer a.b.c', 'elsewhere');
    expect(session.wallet).toBe(WALLET);
    expect(made).toEqual([OWNER]);
    expect(listed).toEqual(['token']);
    const how = { event: 'signed_in', token: 'token', role: 'owner', by: 'nonce' };
    expect(recorded).toMatchObject([{ ...how, wallet: WALLET.address, at: 100, until: 1000 }]);
  });

  it('make none where too many were made from there', async () => {
    const { sessions, made, recorded } = setUp();
    const limited = { code: 'rate_limited' };
    await expect(sessions.of('Bearer a.b.c', 'elsewhere')).rejects.toMatchObject(limited);
    await expect(sessions.prepare(OWNER, 'elsewhere')).rejects.toMatchObject(limited);
    expect([made, recorded]).toEqual([[], []]);
    await sessions.prepare(OWNER, HOME);
    expect(made).toEqual([OWNER]);
  });

  it('make one with the first agent', async () => {
    const { sessions, made, listed } = setUp();
    await sessions.issue(OWNER, 'agent', { by: 'approval', epoch: 0 });
    expect(made).toEqual([OWNER]);
    expect(listed).toEqual(['token']);
  });
});
