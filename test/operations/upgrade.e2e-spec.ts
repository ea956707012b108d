import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sandboxAccount } from '../../sandbox/accounts.js';
import type { Service } from '../../sandbox/service.js';
import { eventually, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/** `dist/main.js` of a clone of the version before; without it there is nothing to roll from. */
const PREVIOUS = process.env['PREVIOUS_MAIN'];
const AT_ONCE = 8;

/** Each process is replaced in its turn, under load, over one Redis; and then put back. */
(PREVIOUS === undefined ? describe.skip : describe)('a rolling upgrade', () => {
  let world: World;
  let services: Service[] = [];
  const payTo = newAccount().address;
  const successes = new Map<Body, number>();
  const failures: string[] = [];

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.3 });
  });
  afterAll(async () => {
    await world.stop();
  });

  function start(main?: string): Promise<Service> {
    const keys = [sandboxAccount(10).key, sandboxAccount(11).key].join(',');
    return world.service({ SIGNER_KEYS: keys }, undefined, main);
  }

  /** The new one is there before the old one goes, as `maxSurge: 1` has it. */
  async function replace(index: number, main?: string): Promise<void> {
    const fresh = await start(main);
    const old = services[index];
    services = services.map((one, place) => (place === index ? fresh : one));
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await old?.stop('SIGTERM');
    expect(old?.child.exitCode).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }

  /** One payment, presented as the stock client does: again after "pending", or without an answer. */
  async function settle(body: Body, turn: number): Promise<void> {
    successes.set(body, 0);
    await eventually(
      'an answer for good',
      async () => {
        const service = services[turn % services.length];
        const answer = await post(`${service?.url ?? ''}/v2/settle`, body).catch(() => undefined);
        if (answer === undefined) return false;
        const { success, errorReason } = answer.body;
        if (success === true) successes.set(body, (successes.get(body) ?? 0) + 1);
        else if (['settlement_pending', 'settlement_not_sent'].includes(String(errorReason)))
          return false;
        else failures.push(String(errorReason));
        return true;
      },
      60_000,
    );
  }

  it('tells every settle once and pays it once, forward and back', async () => {
    services = [await start(PREVIOUS), await start(PREVIOUS)];
    const payer = await world.payer();
    let isOver = false;
    let turn = 0;
    const options = { payer, chainId: world.chainId, token: world.usd, payTo, amount: 1000n };
    const load = Array.from({ length: AT_ONCE }, async () => {
      while (!isOver) await settle(await eip3009Body(options), (turn += 1));
    });
    for (const main of [undefined, PREVIOUS]) {
      for (const index of [0, 1]) await replace(index, main);
    }
    isOver = true;
    await Promise.all(load);
    expect(successes.size).toBeGreaterThan(100);
    expect(failures).toEqual([]);
    expect([...new Set(successes.values())]).toEqual([1]);
    // Presented again: each is sold already, whichever version told it.
    for (const body of successes.keys()) {
      const { body: again } = await post(`${services[1]?.url ?? ''}/v2/settle`, body);
      expect(again).toMatchObject({ success: false, errorReason: 'duplicate_settlement' });
    }
    expect(await world.balance(world.usd, payTo)).toBe(BigInt(successes.size) * 1000n);
  }, 240_000);
});
