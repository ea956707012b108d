import { describe, expect, it } from '@jest/globals';
import { ownerProblems } from './wallet-owner-settings.js';

describe('settings of who may own a wallet', () => {
  const networks = [{ chainId: 56 }];
  const off = {
    WALLET_OWNERS: undefined,
    WALLET_CONTRACT_OWNERS: undefined,
    WALLET_PASSKEYS: 'false',
  } as const;
  const problemsOf = (more: object, url = 'https://wallet.example'): readonly string[] =>
    ownerProblems({ ...off, ...more }, networks, url);

  it('name a network of this deployment for contracts', () => {
    expect(problemsOf({ WALLET_CONTRACT_OWNERS: 56 })).toEqual([]);
    expect(problemsOf({ WALLET_CONTRACT_OWNERS: 97 })).toEqual([
      'WALLET_CONTRACT_OWNERS: eip155:97 is not one of NETWORKS',
    ]);
  });

  it('have passkeys only at a host that they can be made for', () => {
    for (const url of ['https://wallet.example', 'http://localhost:4022']) {
      expect(problemsOf({ WALLET_PASSKEYS: 'true' }, url)).toEqual([]);
    }
    for (const url of ['http://wallet.example', 'https://10.0.0.1', 'https://[::1]:4022']) {
      expect(problemsOf({ WALLET_PASSKEYS: 'true' }, url)[0]).toMatch(/^WALLET_PASSKEYS: requires/);
      expect(problemsOf({}, url)).toEqual([]);
    }
  });

  it('have no passkeys beside a list of owners', () => {
    const owners = { WALLET_OWNERS: [], WALLET_PASSKEYS: 'true' };
    expect(problemsOf(owners)[0]).toMatch(/^WALLET_PASSKEYS: cannot be used with WALLET_OWNERS/);
  });
});
