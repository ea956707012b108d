import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { Secret } from '../../src/platform/config/secret.js';
import { type Intent, IntentStore, type StoredIntent } from '../../src/wallet/pay/intent.js';
import { RecordSeal } from '../../src/wallet/seal/record-seal.js';
import { intentKey } from '../../src/wallet/wallet-keys.js';

const WALLET = `0x${'11'.repeat(20)}` as const;
const LIFE_SECONDS = 3600;
const KEY = intentKey(WALLET, 'one');

const reserved = (id: string): StoredIntent => ({
  v: 1,
  state: 'reserved',
  request: 'r',
  url: 'http://shop/',
  method: 'GET',
  at: 1,
  deal: {
    x402Version: 2,
    url: 'http://shop/',
    method: 'GET',
    requirements: {},
    symbol: 'USD',
    decimals: 18,
    spending: {
      id,
      chainId: 97,
      method: 'eip3009',
      asset: WALLET,
      payTo: WALLET,
      amount: '1',
      nonce: '1',
      deadline: 1,
    },
  },
});
const result = {
  httpStatus: 200,
  contentType: 'text/plain',
  body: 'goods',
  encoding: 'utf8' as const,
  isCutOff: false,
};
const paid = (id: string, body = 'goods'): StoredIntent => ({
  ...reserved(id),
  state: 'paid',
  result: { ...result, body },
});
const saved = (id: string): StoredIntent => ({
  ...paid(id),
  save: { name: 'goods', file: { size: 5, sha256: 'ab' } },
});
const free: StoredIntent = { ...reserved(''), state: 'free', deal: undefined, result };

/** Two processes have one intent in hand: the lock of one has run out. */
describe('an intent in Redis', () => {
  let server: SandboxRedis;
  let redis: Redis;

  const store = (current = 'a', previous?: string): IntentStore => {
    const secrets = { current, previous };
    const secretOf = (text: string) => new Secret(text.repeat(32));
    const seal = new RecordSeal({
      sealSecret: {
        current: secretOf(secrets.current),
        previous: previous === undefined ? undefined : secretOf(previous),
      },
    });
    return new IntentStore(redis, seal, { retentionSeconds: LIFE_SECONDS });
  };
  /** As charging it does. */
  const charge = async (intent: StoredIntent, charged: number): Promise<string> => {
    const record = store().textOf(WALLET, 'one', intent, charged);
    await redis.set(KEY, record, 'EX', LIFE_SECONDS);
    return record;
  };
  const there = async (): Promise<Intent | undefined> =>
    (await store().read(WALLET, 'one'))?.intent;

  beforeAll(async () => {
    server = await startRedis(await freePort());
    redis = new Redis(server.url);
  });
  beforeEach(async () => {
    await redis.flushall();
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it('takes the place of what it was read as, and keeps how often it was charged', async () => {
    const record = await charge(reserved('a'), 3);
    expect(await store().write(WALLET, 'one', paid('a'), record)).toBe(true);
    expect(await there()).toMatchObject({ state: 'paid', result: { body: 'goods' } });
    expect(await redis.get(KEY)).toMatch(/^3\//);
    expect(await redis.ttl(KEY)).toBeGreaterThan(LIFE_SECONDS - 60);
  });

  it('stays as another process has noted it, where that has come as far', async () => {
    const record = await charge(reserved('a'), 1);
    expect(await store().write(WALLET, 'one', paid('a', 'first'), record)).toBe(true);
    expect(await store().write(WALLET, 'one', paid('a', 'second'), record)).toBe(false);
    expect((await there())?.result?.body).toBe('first');
    expect(await store().write(WALLET, 'one', saved('a'), record)).toBe(true);
    expect(await store().write(WALLET, 'one', paid('a', 'third'), record)).toBe(false);
    expect((await there())?.save?.file?.size).toBe(5);
  });

  it('is not ended by the answer to the payment before it', async () => {
    const old = await charge(reserved('a'), 1);
    await charge(reserved('b'), 2);
    expect(await store().write(WALLET, 'one', paid('a'), old)).toBe(false);
    expect(await there()).toMatchObject({ state: 'reserved', deal: { spending: { id: 'b' } } });
  });

  it('is not called free where another process has charged for it', async () => {
    await charge(reserved('a'), 1);
    expect(await store().write(WALLET, 'one', free, '')).toBe(false);
    expect((await there())?.state).toBe('reserved');
  });

  it('is written afresh where Redis has lost it, and over what came back from the journal', async () => {
    const record = await charge(reserved('a'), 1);
    await redis.del(KEY);
    expect(await store().write(WALLET, 'one', paid('a'), record)).toBe(true);
    await charge(reserved('a'), 1);
    expect(await store().write(WALLET, 'one', saved('a'), record)).toBe(true);
    expect((await there())?.save?.name).toBe('goods');
  });

  it('ends where the same step was sealed again meanwhile, under another secret', async () => {
    const record = await charge(reserved('a'), 1);
    const rotated = store('b', 'a');
    const renewed = rotated.textOf(WALLET, 'one', reserved('a'), 1);
    await redis.set(KEY, renewed);
    expect(await rotated.write(WALLET, 'one', paid('a'), record)).toBe(true);
    expect((await rotated.read(WALLET, 'one'))?.intent.state).toBe('paid');
  });

  it('is one, of ten processes that note it at once', async () => {
    const record = await charge(reserved('a'), 1);
    const all = Array.from({ length: 10 }, (_, at) =>
      store().write(WALLET, 'one', paid('a', String(at)), record),
    );
    const written = (await Promise.all(all)).flatMap((isWritten, at) => (isWritten ? [at] : []));
    expect(written).toHaveLength(1);
    expect((await there())?.result?.body).toBe(String(written[0]));
  });
});
