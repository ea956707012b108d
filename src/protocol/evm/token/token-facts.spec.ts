import { describe, expect, it } from '@jest/globals';
import {
  aTokenChain,
  type FakeToken,
  TOKEN_AT,
} from '../../../../test/builders/protocol/evm/token/token.js';
import { ChainUnavailableError, CodeUnresponsiveError } from '../../errors.js';
import { readTokenFacts, speaksEip3009, type TokenFacts } from './token-facts.js';
import { newTrialSigner } from './token-trials.js';

const SIGNER = newTrialSigner();
const factsOf = (token: FakeToken, hints = [] as TokenFacts['domain'][]): Promise<TokenFacts> =>
  readTokenFacts(
    aTokenChain(token),
    TOKEN_AT,
    SIGNER,
    hints.filter((hint) => hint !== undefined),
  );

const DOMAIN = { name: 'Dollar', version: '1' };
const DOLLAR: FakeToken = {
  name: 'Dollar',
  symbol: 'D',
  version: '1',
  decimals: 18n,
  domain: DOMAIN,
  functions: ['state', 'vrs', 'bytes', 'permit'],
};
const both = (support: string) => ({ vrs: support, bytes: support });

describe('what is found of a token', () => {
  it.each<[string, FakeToken, object]>([
    [
      'that has everything',
      DOLLAR,
      {
        name: 'Dollar',
        symbol: 'D',
        version: '1',
        decimals: 18,
        domain: DOMAIN,
        eip3009: both('yes'),
        eip2612: 'yes',
      },
    ],
    [
      'that is a plain one',
      { name: 'Tether USD', symbol: 'USDT', decimals: 18n },
      { version: undefined, domain: undefined, eip3009: both('no'), eip2612: 'no' },
    ],
    [
      'with the overload of v, r and s alone',
      { ...DOLLAR, functions: ['state', 'vrs'] },
      { eip3009: { vrs: 'yes', bytes: 'no' }, eip2612: 'no' },
    ],
    [
      'that refuses without a word',
      { ...DOLLAR, functions: ['state', 'vrs'], manner: 'silent' },
      { eip3009: { vrs: 'yes', bytes: 'no' } },
    ],
    [
      'of which neither overload shows',
      { ...DOLLAR, functions: ['state'] },
      { eip3009: both('unclear') },
    ],
    [
      'without version(), of version 2',
      { ...DOLLAR, version: undefined as never, domain: { name: 'Dollar', version: '2' } },
      { version: undefined, domain: { name: 'Dollar', version: '2' }, eip3009: both('yes') },
    ],
    [
      'that names its domain itself',
      {
        ...DOLLAR,
        domain: { name: 'Dollar Coin', version: '7' },
        functions: ['eip712Domain', 'state', 'vrs', 'bytes'],
      },
      { name: 'Dollar', domain: { name: 'Dollar Coin', version: '7' }, eip3009: both('yes') },
    ],
    [
      'that hides its separator, by what it takes',
      { ...DOLLAR, hidesSeparator: true },
      { domain: DOMAIN, eip3009: both('yes'), eip2612: 'yes' },
    ],
    [
      'of an unknown domain: the function exists, as it reverts with its own reason',
      { ...DOLLAR, hidesSeparator: true, domain: { name: 'Secret', version: '9' } },
      { domain: undefined, eip3009: both('yes') },
    ],
    [
      'that takes any signature',
      { ...DOLLAR, manner: 'takes_all' },
      { eip3009: both('unclear'), eip2612: 'unclear' },
    ],
    [
      'that answers whatever it is asked',
      { manner: 'takes_all' },
      { name: undefined, decimals: undefined, eip3009: both('no'), eip2612: 'no' },
    ],
    [
      'that burns gas',
      { ...DOLLAR, burns: ['authorizationState(address,bytes32)', 'nonces(address)', 'name()'] },
      { name: undefined, eip3009: both('unclear'), eip2612: 'unclear' },
    ],
    [
      'that lies about its size',
      { ...DOLLAR, decimals: 2n ** 200n, name: 'N'.repeat(257), symbol: 'S'.repeat(65) },
      { name: undefined, symbol: undefined, decimals: undefined },
    ],
  ])('%s', async (_, token, expected) => {
    expect(await factsOf(token)).toMatchObject(expected);
  });

  it('is the reported domain where that is its own', async () => {
    const token = { ...DOLLAR, name: 'Renamed', domain: { name: 'Old', version: '3' } };
    expect((await factsOf(token)).domain).toBeUndefined();
    const hinted = await factsOf(token, [{ name: 'Old', version: '3' }]);
    expect(hinted).toMatchObject({ domain: { name: 'Old', version: '3' }, eip3009: both('yes') });
    expect((await factsOf(token, [{ name: 'Wrong', version: '3' }])).domain).toBeUndefined();
  });

  it('costs sixteen calls at most, each with a limit of gas', async () => {
    const chain = aTokenChain(DOLLAR);
    const limits: (bigint | undefined)[] = [];
    const call: typeof chain.call = (one, gas) => {
      limits.push(gas);
      return chain.call(one, gas);
    };
    await readTokenFacts({ ...chain, call }, TOKEN_AT, SIGNER);
    expect(limits.length).toBeLessThanOrEqual(16);
    expect(new Set(limits)).toEqual(new Set([300_000n]));
    expect(chain.calls.every(({ to }) => to === TOKEN_AT)).toBe(true);
  });

  it('is unclear where code does not come to an end, and not known while the chain is away', async () => {
    const failing = (error: Error) => ({ chainId: 56, call: () => Promise.reject(error) });
    const stuck = failing(new CodeUnresponsiveError(56, 'eth_call'));
    expect(await readTokenFacts(stuck, TOKEN_AT, SIGNER)).toMatchObject({
      decimals: undefined,
      eip3009: both('unclear'),
      eip2612: 'unclear',
    });
    const away = failing(new ChainUnavailableError(56, 'eth_call'));
    await expect(readTokenFacts(away, TOKEN_AT, SIGNER)).rejects.toThrow(ChainUnavailableError);
  });

  it.each([
    [{ vrs: 'yes', bytes: 'no' }, 'yes'],
    [{ vrs: 'unclear', bytes: 'yes' }, 'yes'],
    [{ vrs: 'unclear', bytes: 'no' }, 'unclear'],
    [{ vrs: 'no', bytes: 'no' }, 'no'],
  ] as const)('says of %j whether it speaks EIP-3009: %s', (eip3009, expected) => {
    expect(speaksEip3009({ eip3009 } as TokenFacts)).toBe(expected);
  });
});

describe('a trial', () => {
  it('is signed by another key each time', () => {
    expect(newTrialSigner().address).not.toBe(SIGNER.address);
    expect(newTrialSigner().nonce).not.toBe(SIGNER.nonce);
  });
});
