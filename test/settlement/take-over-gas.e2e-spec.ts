import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const AT_ONCE = 64;
const AMOUNT = 1000n;

/**
 * The first thing a process learns of the gas of a token may be the receipt of what the process before it sent, to a
 * payee that had a balance. A payee without one needs more, and its payer is no burner of gas for that.
 */
describe('a process that goes on with the lane of another', () => {
  let world: World;

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.5 });
  });
  afterAll(async () => {
    await world.stop();
  });

  it.each<[string, number, Record<string, string>]>([
    ['the first, in batches', 1000, {}],
    ['the second, one by one', 250, { BATCH_MAX_ITEMS: '1' }],
  ])('refuses nothing to a payee that was never paid before: %s', async (_, count, settings) => {
    const service = await world.service({ SETTLE_WAIT_MS: '30000', ...settings });
    const payer = newAccount();
    await world.fund(payer.address, AMOUNT * BigInt(count));
    const payTo = newAccount().address;
    const { chainId, usd: token } = world;
    const terms = { payer, chainId, token, payTo, amount: AMOUNT, validFor: 600 };
    const left = await Promise.all(Array.from({ length: count }, () => eip3009Body(terms)));
    const refusals: unknown[] = [];
    const requester = async (): Promise<void> => {
      for (let body = left.pop(); body !== undefined; body = left.pop()) {
        const { body: answer } = await post(`${service.url}/v2/settle`, body);
        if (answer['success'] !== true) refusals.push(answer['errorReason']);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, requester));
    await service.stop();
    expect(refusals).toEqual([]);
    expect(await world.balance(token, payTo)).toBe(AMOUNT * BigInt(count));
  });
});
