import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Service } from '../../sandbox/service.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { TEST_SEED } from '../support/seed.js';
import { SeededRandom } from '../support/seeded-random.js';
import { World } from '../support/world.js';

const PAYMENTS = 120;
const AMOUNT = 1000n;
const GRACE_MS = 15_000;

/** What a seller saw: an answer, or a connection that was never taken. */
type Seen = Answer | 'no connection';

describe(`SIGTERM under load, seed ${TEST_SEED}`, () => {
  const random = new SeededRandom(TEST_SEED);
  let world: World;

  beforeEach(async () => {
    world = await World.start({ blockTime: 0.3 });
  });
  afterEach(() => world.stop());

  /** Sends payments one shortly after the other, and the signal behind some of them and before others. */
  async function endUnderLoad(service: Service, url: string, bodies: Body[]): Promise<Seen[]> {
    const ended = new Promise<number | null>((resolve) => service.child.once('exit', resolve));
    const signalIndex = random.between(PAYMENTS / 6, PAYMENTS - PAYMENTS / 6);
    let signalledAt = 0;
    const seen = await Promise.all(
      bodies.map(async (body, index): Promise<Seen> => {
        await new Promise((resolve) => setTimeout(resolve, index * 10));
        if (index === signalIndex) {
          signalledAt = performance.now();
          service.child.kill('SIGTERM');
        }
        try {
          return await post(`${url}/settle`, body);
        } catch {
          return 'no connection';
        }
      }),
    );
    expect(await ended).toBe(0);
    expect(performance.now() - signalledAt).toBeLessThan(GRACE_MS + 2000);
    return seen;
  }

  /** Every payment was paid once, and every seller with success has its money. */
  async function expectTruth(
    seen: readonly Seen[],
    again: readonly Answer[],
    payTo: `0x${string}`,
  ) {
    const counts = seen.map((one, index) => {
      const first = one !== 'no connection' && one.body['success'] === true;
      const second = again[index]?.body['success'] === true;
      return Number(first) + Number(second);
    });
    expect(counts).toEqual(counts.map(() => 1));
    expect(await world.balance(world.usd, payTo)).toBe(AMOUNT * BigInt(seen.length));
  }

  const makeBodies = async (): Promise<{ bodies: Body[]; payTo: `0x${string}` }> => {
    const payer = await world.payer();
    const payTo = newAccount().address;
    const { chainId, usd: token } = world;
    const made = Array.from({ length: PAYMENTS }, () =>
      eip3009Body({ payer, chainId, token, payTo, amount: AMOUNT }),
    );
    return { bodies: await Promise.all(made), payTo };
  };

  it('a lone process answers what it took before it ends with 0, and the next one the rest', async () => {
    const service = await world.service({ SHUTDOWN_GRACE_MS: String(GRACE_MS) });
    await eventually('settles', async () => (await get(`${service.url}/health`)).status === 200);
    const { bodies, payTo } = await makeBodies();
    const seen = await endUnderLoad(service, service.url, bodies);

    const taken = seen.filter((one) => one !== 'no connection');
    // How many depends on the machine: what waits for a busy process to accept it is not taken.
    expect(taken.length).toBeGreaterThan(0);
    for (const { body } of taken) expect(body).toMatchObject({ success: true });
    const next = await world.service();
    const again = await Promise.all(bodies.map((body) => post(`${next.url}/settle`, body)));
    await expectTruth(seen, again, payTo);
  });

  it('a worker hands its lane to another, and no seller notices', async () => {
    const api = await world.service({ ROLES: 'api', SIGNER_KEYS: '' });
    const leaving = await world.service({ ROLES: 'worker' });
    await eventually('settles', async () => (await get(`${api.url}/health`)).status === 200);
    await world.service({ ROLES: 'worker' });
    const { bodies, payTo } = await makeBodies();
    const seen = await endUnderLoad(leaving, api.url, bodies);
    for (const one of seen) expect(one).toMatchObject({ body: { success: true } });
    await expectTruth(seen, [], payTo);
  });
});
