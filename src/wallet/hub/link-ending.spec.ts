import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ChainableCommander, Redis } from 'ioredis';
import type { Address } from 'viem';
import { WalletError } from '../wallet-error.js';
import { LinkEnding } from './link-ending.js';
import { generationFamily, tokenFamily } from './link-family.js';

const OWNER: Address = '0x00000000000000000000000000000000000000aa';
const WALLET = { id: 'w', address: '0x00000000000000000000000000000000000000bb' } as const;
const FAMILY = tokenFamily({ generation: 1_800_000_000, tokenId: 'a' });
const DAY_SECONDS = 86_400;

describe('the beginning of the nonces of links', () => {
  it('is of a token, within all tokens up to a revocation of all', () => {
    expect(generationFamily(1_800_000_000)).toBe('0x000000006b49d200');
    expect(FAMILY).toMatch(/^0x000000006b49d200[0-9a-f]{16}$/);
    expect(tokenFamily({ generation: 1_800_000_000, tokenId: 'b' })).not.toBe(FAMILY);
  });
});

describe('links that ended with their tokens', () => {
  let noted: Map<string, number>;
  let reported: string[];
  let failures: unknown[];
  let now: number;
  /** What the hub says to each; nothing when it takes it. */
  let refusals: (WalletError | undefined)[];

  const redis = {
    zadd: (_: string, ...given: (string | number)[]) => {
      const [score, member] = given.slice(-2);
      if (given[0] !== 'XX' || noted.has(String(member))) noted.set(String(member), Number(score));
      return Promise.resolve(1);
    },
    zrangebyscore: (_: string, __: string, until: number) =>
      Promise.resolve([...noted].flatMap(([member, score]) => (score <= until ? [member] : []))),
    zrem: (_: string, member: string) => Promise.resolve(noted.delete(member) ? 1 : 0),
  };
  const ending = (): LinkEnding =>
    new LinkEnding(
      redis as unknown as Redis,
      {
        revoke: ({ wallet }, path, { family = 'all' }, isEnding) => {
          reported.push(`${wallet.address === WALLET.address} ${path} ${family} ${isEnding}`);
          const refusal = refusals.shift();
          return refusal === undefined ? Promise.resolve() : Promise.reject(refusal);
        },
      },
      { find: (owner) => Promise.resolve(owner === OWNER ? WALLET : undefined) },
      () => now,
      (error) => failures.push(error),
    );
  const note = (): void => {
    ending().note(redis as unknown as ChainableCommander, OWNER, FAMILY);
  };
  const BOTH = [`true /api/shared ${FAMILY} true`, `true /api/incoming ${FAMILY} true`];

  beforeEach(() => {
    noted = new Map();
    [reported, failures, refusals] = [[], [], []];
    now = 1_800_000_100;
  });

  it('are sent to the hub at once, of both kinds, and once', async () => {
    note();
    await ending().endNow();
    await ending().endNow();
    expect(reported).toEqual(BOTH);
    expect([noted.size, failures]).toEqual([0, []]);
  });

  it('are sent again by any process when the hub was away', async () => {
    note();
    const away = new WalletError('fetch_failed', 'away');
    refusals = [undefined, away];
    await ending().endNow();
    expect([noted.size, failures]).toEqual([1, [away]]);
    now += 29;
    await ending().endNow();
    expect(reported).toEqual(BOTH);
    now += 1;
    await ending().endNow();
    expect(reported).toEqual([...BOTH, ...BOTH]);
    expect(noted.size).toBe(0);
  });

  it('are all taken back where the hub remembers as much of the wallet as it does', async () => {
    note();
    refusals = [new WalletError('forbidden', 'full'), undefined];
    await ending().endNow();
    expect(reported).toEqual([BOTH[0], 'true /api/shared all true', BOTH[1]]);
    expect(noted.size).toBe(0);
  });

  it('are not sent where the hub has no such links', async () => {
    note();
    refusals = [new WalletError('forbidden', 'public'), new WalletError('forbidden', 'public')];
    await ending().endNow();
    expect([noted.size, failures]).toEqual([0, []]);
  });

  it('are sent again where a hub does not know their owner', async () => {
    note();
    const unknown = new WalletError('not_found', 'nothing');
    refusals = [new WalletError('forbidden', 'full'), unknown];
    await ending().endNow();
    expect([noted.size, failures]).toEqual([1, [unknown]]);
  });

  it('are not told any more when each of them is over', async () => {
    note();
    now += 30 * DAY_SECONDS + 1;
    await ending().endNow();
    expect([noted.size, reported]).toEqual([0, []]);
  });
});
