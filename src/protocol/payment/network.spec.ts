import { describe, expect, it } from '@jest/globals';
import { EVM_NETWORK_CHAIN_ID_MAP } from '@x402/evm/v1';
import {
  caip2Of,
  chainIdOf,
  chainIdOfV1Name,
  isCaip2,
  NETWORK_NAMES,
  v1NameOf,
} from './network.js';

/** Names of BNB Chain and of the sandbox, which the reference has none for. */
const OWN_NAMES = ['bsc', 'bsc-testnet', 'anvil'];

describe('V1 names of networks', () => {
  it('are those of the reference, and three more', () => {
    const known = NETWORK_NAMES.map((name) => [name, chainIdOfV1Name(name)]);
    const others = known.filter(([name]) => !OWN_NAMES.includes(String(name)));
    expect(Object.fromEntries(others)).toEqual(EVM_NETWORK_CHAIN_ID_MAP);
    expect(OWN_NAMES.map(chainIdOfV1Name)).toEqual([56, 97, 31_337]);
  });

  it('lead to a chain and back', () => {
    expect(NETWORK_NAMES.map((name) => v1NameOf(chainIdOfV1Name(name) ?? 0))).toEqual(
      NETWORK_NAMES,
    );
    expect(chainIdOfV1Name('Base')).toBeUndefined();
    expect(v1NameOf(31_338)).toBeUndefined();
  });
});

describe('CAIP-2 names', () => {
  it('lead to a chain and back', () => {
    expect(chainIdOf(caip2Of(56))).toBe(56);
  });

  it.each(['eip155:056', 'eip155:', 'eip155:-1', 'EIP155:56', 'solana:56', ' eip155:56', '56'])(
    'are not %j',
    (name) => {
      expect(chainIdOf(name)).toBeUndefined();
    },
  );
});

describe('the CAIP-2 name of an EVM chain', () => {
  const most = String(Number.MAX_SAFE_INTEGER);

  it.each([`eip155:1`, 'eip155:56', 'eip155:11155111', `eip155:${most}`])('is %j', (name) => {
    expect(isCaip2(name)).toBe(true);
  });

  it.each([
    'eip155:0',
    'eip155:01',
    'eip155:9007199254740992',
    'eip155:12345678901234567',
    'eip155:56\n',
    'eip155:٥٦',
    'bsc',
    '',
    56,
    ['eip155:56'],
    undefined,
  ])('is not %j', (name) => {
    expect(isCaip2(name)).toBe(false);
  });
});
