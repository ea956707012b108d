import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../../sandbox/processes.js';
import { startRedis } from '../../../sandbox/redis.js';
import type { Service } from '../../../sandbox/service.js';
import { diagnosisOf } from '../../../src/protocol/diagnosis/diagnosis.js';
import { type Answer, eventually, get, post } from '../../support/http.js';
import { World } from '../../support/world.js';

const EMPTY = { paymentPayload: {}, paymentRequirements: {} };
const from = (address: string): Record<string, string> => ({ 'X-Forwarded-For': address });

/** Asks until it is refused; a limit by the second cannot be relied on to be met exactly. */
async function untilRefused(ask: () => Promise<Answer>): Promise<Answer> {
  for (let count = 0; count < 500; count += 1) {
    const answers = await Promise.all([ask(), ask(), ask(), ask()]);
    const refused = answers.find(({ status }) => status === 429);
    if (refused !== undefined) return refused;
  }
  throw new Error('never refused');
}

describe('rate limits', () => {
  let world: World;
  let service: Service;

  beforeAll(async () => {
    world = await World.start();
    service = await world.service({
      RATE_LIMIT_VERIFY: '3',
      RATE_LIMIT_SETTLE: '2',
      TRUST_PROXY: '1',
    });
  });
  afterAll(() => world.stop());

  it('say what is left, and when it is whole again', async () => {
    const { status, headers } = await post(`${service.url}/verify`, EMPTY, from('10.0.0.1'));
    expect(status).toBe(200);
    expect(headers.get('ratelimit-limit')).toBe('3');
    expect(headers.get('ratelimit-remaining')).toBe('2');
    expect(headers.get('ratelimit-reset')).toBe('1');
  });

  it('refuse a verify in the words stock clients read', async () => {
    const refused = await untilRefused(() =>
      post(`${service.url}/v2/verify`, EMPTY, from('10.0.0.2')),
    );
    expect(refused.body).toEqual({
      isValid: false,
      invalidReason: 'rate_limited',
      invalidMessage: 'Too many requests; `Retry-After` says when to ask again.',
      payer: '',
      extensions: { diagnosis: diagnosisOf('rate_limited') },
    });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('ratelimit-remaining')).toBe('0');
  });

  it('refuse a settle likewise, and let it in a second later', async () => {
    const settle = (): Promise<Answer> => post(`${service.url}/settle`, EMPTY, from('10.0.0.3'));
    const refused = await untilRefused(settle);
    expect(refused.body).toEqual({
      success: false,
      errorReason: 'rate_limited',
      errorMessage: 'Too many requests; `Retry-After` says when to ask again.',
      transaction: '',
      network: '',
      extensions: { diagnosis: diagnosisOf('rate_limited') },
    });
    const seconds = Number(refused.headers.get('retry-after'));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    expect((await settle()).status).toBe(200);
  });

  it('count addresses, buckets and IPv6 networks apart', async () => {
    const verify = (address: string) => () => post(`${service.url}/verify`, EMPTY, from(address));
    await untilRefused(verify('2001:db8:1:2::1'));
    expect((await verify('2001:db8:1:3::1')()).status).toBe(200);
    expect((await post(`${service.url}/settle`, EMPTY, from('2001:db8:1:2::1'))).status).toBe(200);
    // Another address of the same /64 is the same caller.
    let hosts = 2;
    await untilRefused(() => verify(`2001:db8:1:2::${String((hosts += 1))}`)());
    expect(hosts).toBeLessThan(100);
  });

  it('never touch what is not counted', async () => {
    for (let count = 0; count < 20; count += 1) {
      const { status, headers } = await get(`${service.url}/supported`);
      expect([status, headers.get('ratelimit-limit')]).toEqual([200, null]);
    }
  });

  it('keep nothing in Redis for longer than the second', async () => {
    const redis = new Redis(world.redis.url);
    await post(`${service.url}/verify`, EMPTY, from('10.0.0.9'));
    await eventually(
      'forgotten',
      async () => (await redis.exists('x402:rl:facilitator:verify:ip:10.0.0.9')) === 0,
    );
    redis.disconnect();
  });

  it('are not there at all when they are off', async () => {
    const open = await world.service();
    const { headers } = await post(`${open.url}/verify`, EMPTY);
    expect(headers.get('ratelimit-limit')).toBeNull();
  });

  it('let everybody in while Redis is away', async () => {
    const redis = await startRedis(await freePort());
    const lonely = await world.service({ REDIS_URL: redis.url, RATE_LIMIT_VERIFY: '1' });
    await redis.stop('SIGKILL');
    for (let count = 0; count < 5; count += 1) {
      const { status, body } = await post(`${lonely.url}/verify`, EMPTY);
      expect([status, body['invalidReason']]).toEqual([200, 'invalid_x402_version']);
    }
  });
});
