import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../support/http.js';
import { type Hub, HUB_ADDRESS, type HubAnswer, HubWorld } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { strictHeaders } from '../support/strict-signature.js';

const ASSET = `0x${'11'.repeat(20)}`;
const THIEF = `0x${'66'.repeat(20)}`;

/** Who can write the hub's Redis is not who says what a file costs. */
describe('a price in an index that somebody has changed', () => {
  const me = newAccount();
  const owner = me.address.toLowerCase();
  const settings = {
    HUB_SALES: 'true',
    HUB_SALES_SECRET: 'a secret of at least thirty-two characters',
    HUB_PUBLIC_URL: 'https://files.example/api',
    HUB_ADDRESS,
    // No server has to answer there: nothing is paid.
    HUB_FACILITATOR_URL: 'http://127.0.0.1:9',
  };
  let world: HubWorld;
  let hub: Hub;
  let redis: Redis;

  async function price(file: string, amount: string): Promise<void> {
    await hub.store(owner, file, `the bytes of ${file}`);
    const body = JSON.stringify({
      file,
      network: 'eip155:56',
      asset: ASSET,
      amount,
      accessSeconds: 60,
    });
    const headers = await strictHeaders(me, { method: 'PUT', path: '/api/price', body });
    expect((await hub.ask('/api/price', { method: 'PUT', body, headers })).status).toBe(200);
  }
  const terms = ({ json }: HubAnswer): unknown =>
    (json as { accepts?: readonly object[] }).accepts?.[0];

  /** Nothing but "try again" is said until the price is known again. */
  async function untilOffered(file: string): Promise<unknown> {
    let answer = await hub.download(owner, file);
    await eventually('the index is made anew', async () => {
      if (answer.status === 503) answer = await hub.download(owner, file);
      return answer.status !== 503;
    });
    expect(answer.status).toBe(402);
    return terms(answer);
  }

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub(settings);
    redis = new Redis(world.redis.url);
    await price('cheap', '1');
    await price('dear', '1000');
  });
  afterAll(async () => {
    redis.disconnect();
    await world.stop();
  });

  it.each([
    ['for another amount', (row: string) => row.replace('"1000"', '"1"')],
    ['to be paid to a thief', (row: string) => row.replaceAll(owner, THIEF)],
    ['to none', (row: string) => row.slice(0, row.indexOf('|') + 1)],
    ['to that of another file', (_row: string, other: string) => other],
    ['to nonsense', () => 'nonsense'],
  ])('%s, is that of the journal again, and no other is ever told', async (_what, change) => {
    const key = `hub:i:p:${owner}`;
    const [row, other] = await redis.hmget(key, 'dear', 'cheap');
    const changed = change(row ?? '', other ?? '');
    expect(changed).not.toBe(row);
    await redis.hset(key, 'dear', changed);
    expect(await untilOffered('dear')).toMatchObject({ amount: '1000', payTo: owner });
    expect(await untilOffered('cheap')).toMatchObject({ amount: '1' });
  });

  it('is kept by a hub whose secret is another one since', async () => {
    await hub.service.stop('SIGTERM');
    const secret = 'another secret of at least thirty-two characters';
    hub = await world.hub({ ...settings, HUB_SALES_SECRET: secret });
    expect(await untilOffered('dear')).toMatchObject({ amount: '1000', payTo: owner });
  });
});
