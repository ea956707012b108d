import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { stockBuyer } from '../../sandbox/buyer.js';
import { freePort, type Started, startProgram } from '../../sandbox/processes.js';
import { PRICE } from '../../sandbox/seller.js';
import { newAccount } from '../support/payments.js';
import { ROOT, run } from '../support/programs.js';
import { World } from '../support/world.js';

/** The first build takes that long on a small machine. */
const BUILD_MS = 1_800_000;
const MANIFEST = join(ROOT, 'examples', 'seller-rust', 'Cargo.toml');
const TARGET = join(ROOT, 'node_modules', '.cache', 'seller-rust');

describe('seller-rust', () => {
  let world: World;
  let seller: Started;
  let url: string;
  const payTo = newAccount().address;

  beforeAll(async () => {
    const built = await run(
      'cargo',
      ['build', '--locked', '--manifest-path', MANIFEST, '--target-dir', TARGET],
      { HOME: process.env['HOME'] ?? '' },
    );
    expect([built.status, built.status === 0 ? '' : built.output]).toEqual([0, '']);
    world = await World.start({ blockTime: 0.3 });
    const service = await world.service();
    const port = await freePort();
    seller = await startProgram(
      join(TARGET, 'debug', 'seller'),
      [],
      (output) => output.includes('selling at'),
      {
        env: {
          FACILITATOR_URL: service.url,
          CHAIN_ID: String(world.chainId),
          ASSET: world.usd,
          PAY_TO: payTo,
          PORT: String(port),
        },
      },
    );
    url = `http://127.0.0.1:${port}/report`;
  }, BUILD_MS);
  afterAll(async () => {
    await seller.stop();
    await world.stop();
  });

  it('sells to the stock client, and to nobody without money', async () => {
    const key = generatePrivateKey();
    const { address } = privateKeyToAccount(key);
    const buy = () => stockBuyer(key, world.anvil.url).buy(url);
    expect((await buy()).status).toBe(402);
    await world.fund(address, PRICE);
    const bought = await buy();
    expect([bought.status, bought.body]).toEqual([200, expect.stringContaining('All is well.')]);
    expect(await world.balance(world.usd, payTo)).toBe(PRICE);
    expect(await world.balance(world.usd, address)).toBe(0n);
  });
});
