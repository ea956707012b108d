import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Address } from 'viem';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { Secret } from '../../src/platform/config/secret.js';
import type { JournalEvent } from '../../src/wallet/audit/journal-record.js';
import type { StoredPasskey } from '../../src/wallet/passkeys/passkey.js';
import { PasskeyOwners } from '../../src/wallet/passkeys/passkey-owners.js';
import { PasskeyStore } from '../../src/wallet/passkeys/passkey-store.js';
import { RecordSeal } from '../../src/wallet/seal/record-seal.js';
import { TestAuthenticator } from '../support/test-authenticator.js';

const SITE = 'https://wallet.example';
const GENERATION = 'x402:wl:gen';
const KEPT = 'x402:wl:pk';
const HOUR_SECONDS = 3600;

/** What becomes of passkeys between Redis and the journal, with a process that ends at each step. */
describe('a passkey', () => {
  let server: SandboxRedis;
  let redis: Redis;
  /** Owners and their passkeys, as the journal has them. */
  let noted: [Address, StoredPasskey][];
  let dies: 'before the journal' | 'after the journal' | undefined;

  const sealSecret = { current: new Secret('s'.repeat(32)), previous: undefined };
  const seal = new RecordSeal({ sealSecret });
  /** As one process has it. */
  const owners = (connection = redis): PasskeyOwners => {
    const book = new PasskeyStore(connection, seal);
    const append = (event: JournalEvent): Promise<void> => {
      if (dies === 'before the journal') return Promise.reject(new Error('it ended'));
      if (event.event !== 'passkey_added') throw new TypeError(event.event);
      noted.push([event.owner as Address, event.passkey]);
      return dies === undefined ? Promise.resolve() : Promise.reject(new Error('it ended'));
    };
    const restoreAll = async (): Promise<never> => {
      await redis.set(GENERATION, 'one', 'NX');
      const id = /run_id:(\w+)/.exec(await redis.info('server'))?.[1] ?? '';
      await book.restore(new Map(noted), `${String(await redis.get(GENERATION))}:${id}`);
      return undefined as never;
    };
    return new PasskeyOwners(
      connection,
      seal,
      book,
      { append },
      { restoreAll },
      { publicUrl: SITE, hasPasskeys: true },
      () => Math.floor(Date.now() / 1000),
    );
  };
  const register = async (one: TestAuthenticator, id = one.id): Promise<Address> => {
    const process = owners();
    return process.register(one.make(await process.options(), id));
  };
  const signs = (owner: Address, one: TestAuthenticator): Promise<boolean> =>
    owners().isSignedBy(owner, 'hello', one.sign('hello'));
  /** A day later, what was made and not used is forgotten. */
  const aDayPasses = async (): Promise<void> => {
    for (const key of await redis.keys('x402:wl:pkn:*')) await redis.del(key);
  };

  beforeAll(async () => {
    server = await startRedis(await freePort());
    redis = new Redis(server.url);
  });
  beforeEach(async () => {
    await redis.flushall();
    noted = [];
    dies = undefined;
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it('is kept, and in the journal once, by its first use', async () => {
    const one = new TestAuthenticator(SITE);
    const owner = await register(one);
    expect([await redis.exists(KEPT), noted.length]).toEqual([1, 0]);
    expect([await signs(owner, one), await signs(owner, one)]).toEqual([true, true]);
    expect(noted).toMatchObject([[owner, { id: one.id }]]);
    expect(await owners().ownerOf(one.id)).toBe(owner);
  });

  it.each(['before the journal', 'after the journal'] as const)(
    'is known a day after a process ended at its first use, %s had it',
    async (moment) => {
      const one = new TestAuthenticator(SITE);
      const owner = await register(one);
      dies = moment;
      await expect(signs(owner, one)).resolves.toBe(false);
      await aDayPasses();
      dies = undefined;
      expect(await owners().ownerOf(one.id)).toBe(owner);
      expect(await signs(owner, one)).toBe(true);
      expect(new Map(noted)).toEqual(new Map([[owner, expect.objectContaining({ id: one.id })]]));
      // And no more often than it has to be.
      const before = noted.length;
      expect(await signs(owner, one)).toBe(true);
      expect(noted).toHaveLength(before);
    },
  );

  it('is known after Redis was lost, where the journal had it and nothing else did', async () => {
    const one = new TestAuthenticator(SITE);
    const owner = await register(one);
    dies = 'after the journal';
    await signs(owner, one);
    dies = undefined;
    await redis.flushall();
    expect(await signs(owner, one)).toBe(true);
    expect(noted).toHaveLength(1);
  });

  it('that says to be another’s is refused, whether that was used yet or not', async () => {
    const one = new TestAuthenticator(SITE);
    const owner = await register(one);
    const thief = new TestAuthenticator(SITE, one.id);
    await expect(register(thief)).rejects.toMatchObject({ code: 'conflict' });
    expect(await signs(owner, one)).toBe(true);
    await expect(register(thief)).rejects.toMatchObject({ code: 'conflict' });
    expect(await owners().ownerOf(one.id)).toBe(owner);
    expect([await signs(owner, thief), await signs(owner, one)]).toEqual([false, true]);
  });

  it('whose name is taken is refused while its person can make another', async () => {
    const one = new TestAuthenticator(SITE);
    await register(new TestAuthenticator(SITE, one.id));
    await expect(register(one)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is good, whatever somebody else has called its key before', async () => {
    const one = new TestAuthenticator(SITE);
    await register(one, Buffer.from('squatted').toString('base64url'));
    const owner = await register(one);
    expect(await signs(owner, one)).toBe(true);
    await expect(register(one, Buffer.from('another').toString('base64url'))).rejects.toMatchObject(
      { code: 'conflict' },
    );
  });

  it('of two that were made with one name is kept for who uses it first', async () => {
    const [one, other] = [new TestAuthenticator(SITE), new TestAuthenticator(SITE)];
    const twin = new TestAuthenticator(SITE, one.id);
    const owner = await register(one);
    // As it may be after a failover that lost who brought it first.
    await aDayPasses();
    const second = await register(twin);
    expect(await signs(second, twin)).toBe(true);
    await expect(register(one)).rejects.toMatchObject({ code: 'conflict' });
    expect([await signs(owner, one), noted.length]).toEqual([false, 1]);
    expect(await signs(await register(other), other)).toBe(true);
  });

  it('is counted for an hour, and made again for the same person', async () => {
    const one = new TestAuthenticator(SITE);
    const owner = await register(one);
    expect(await register(one)).toBe(owner);
    for (const key of await redis.keys('x402:wl:pkn:*')) {
      expect(await redis.ttl(key)).toBeGreaterThan(HOUR_SECONDS - 60);
    }
  });
});
