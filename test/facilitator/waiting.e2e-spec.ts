import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Service } from '../../sandbox/service.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

describe('a look-up that waits', () => {
  let world: World;
  let facilitator: Service;
  /** A process with no requester of any settlement: it gets no events. */
  let bystander: Service;
  let payer: PrivateKeyAccount;

  beforeAll(async () => {
    world = await World.start();
    [facilitator, bystander] = await Promise.all([
      world.service(),
      world.service({ ROLES: 'api', SIGNER_KEYS: '' }),
    ]);
    payer = await world.payer();
    for (const { url } of [facilitator, bystander]) {
      await eventually('settles', async () => (await get(`${url}/health`)).status === 200);
    }
  });
  afterAll(() => world.stop());
  beforeEach(() => world.client.setAutomine(false));

  /** One that is sent, and that no block has taken. */
  async function broadcast(): Promise<string> {
    const { chainId, usd: token } = world;
    const body = await eip3009Body({ payer, chainId, token, payTo: newAccount().address });
    const { headers } = await post(`${facilitator.url}/settle`, body, { Prefer: 'respond-async' });
    const path = headers.get('location') ?? '';
    await eventually('it is sent', async () => {
      return (await get(`${facilitator.url}${path}`)).body['state'] === 'broadcast';
    });
    return path;
  }

  async function timed(asking: Promise<Answer>): Promise<{ answer: Answer; ms: number }> {
    const from = performance.now();
    const answer = await asking;
    return { answer, ms: performance.now() - from };
  }
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it('is answered with each change as it comes, from whichever process', async () => {
    const path = await broadcast();
    for (const [state, blocks] of [
      ['included', 1],
      ['finalized', 5],
    ] as const) {
      const waiting = [facilitator, bystander].map(({ url }) =>
        timed(get(`${url}${path}?wait=30`)),
      );
      await pause(700);
      await world.client.mine({ blocks });
      for (const { answer, ms } of await Promise.all(waiting)) {
        expect(answer.body['state']).toBe(state);
        expect(ms).toBeGreaterThan(600);
        expect(ms).toBeLessThan(10_000);
      }
    }
    const { ms } = await timed(get(`${facilitator.url}${path}?wait=30`));
    expect(ms).toBeLessThan(500);
  });

  it('says how things stand when nothing happens', async () => {
    const path = await broadcast();
    const { answer, ms } = await timed(get(`${facilitator.url}${path}?wait=1`));
    expect(answer).toMatchObject({ status: 200, body: { state: 'broadcast' } });
    expect(ms).toBeGreaterThan(950);
    expect(ms).toBeLessThan(3000);
    await world.client.mine({ blocks: 6 });
  });

  it.each(['31', '-1', '1.5', 'soon', '', '1&wait=2'])('takes no wait of %s', async (wait) => {
    const { status } = await get(
      `${facilitator.url}/v2/settlements/${'A'.repeat(43)}?wait=${wait}`,
    );
    expect(status).toBe(400);
  });

  it('of what is not known does not wait', async () => {
    const unknown = `${facilitator.url}/v2/settlements/${'A'.repeat(43)}?wait=30`;
    const { answer, ms } = await timed(get(unknown));
    expect(answer.status).toBe(404);
    expect(ms).toBeLessThan(1000);
  });

  it('has places that come back when clients hang up', async () => {
    const path = await broadcast();
    const url = `${facilitator.url}${path}?wait=30`;
    const leaving = new AbortController();
    const waiting = Array.from({ length: 64 }, () =>
      fetch(url, { signal: leaving.signal }).catch(() => undefined),
    );
    await eventually('all places are taken', async () => {
      const extra = await timed(get(`${facilitator.url}${path}?wait=1`));
      return extra.answer.headers.get('retry-after') === '1' && extra.ms < 500;
    });
    leaving.abort();
    await Promise.all(waiting);
    await eventually('a place', async () => {
      const { answer, ms } = await timed(get(`${facilitator.url}${path}?wait=1`));
      return answer.headers.get('retry-after') === null && ms > 950;
    });
    await world.client.mine({ blocks: 6 });
  });

  it('keeps no process from ending', async () => {
    const path = await broadcast();
    const leaving = await world.service({ ROLES: 'api', SIGNER_KEYS: '' });
    const waiting = timed(get(`${leaving.url}${path}?wait=30`));
    await pause(500);
    const ended = new Promise((resolve) => leaving.child.once('exit', resolve));
    leaving.child.kill('SIGTERM');
    const { answer, ms } = await waiting;
    expect(answer).toMatchObject({ status: 200, body: { state: 'broadcast' } });
    expect(ms).toBeLessThan(3000);
    expect(await ended).toBe(0);
  });
});
