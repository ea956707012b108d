import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { get } from '../support/http.js';
import { Inspector } from '../support/inspector.js';
import { newAccount } from '../support/payments.js';
import { TEST_SEED } from '../support/seed.js';
import { SeededRandom } from '../support/seeded-random.js';
import { transferData } from '../wallet/transfer-data.js';
import { ADMIN_KEY, WalletWorld } from '../wallet/wallet-world.js';
import { type HostileSeller, startHostileSeller } from './hostile-seller.js';
import type { GeneratedRequest } from './requests.js';
import { type Answered, Sender } from './sender.js';
import { insideDoors, openDoors, WalletRequestMaker } from './wallet-requests.js';

const SHORT = 500;
const COUNT = Number(process.env['FUZZ_COUNT'] ?? SHORT);
const AT_ONCE = 8;
/** Of the heap: code that ran for the first time, and caches that are bounded by count. */
const GROWTH_ALLOWED = 16 * 1024 * 1024;
/** Every other request waits as long. */
const STALL_ALLOWED_MS = 200;
/** A seller's fault, told as one; every other answer of 500 and above is ours. */
const SELLERS_FAULT = '"code":"fetch_failed"';

jest.setTimeout(120_000 + COUNT * 60);

describe(`${COUNT} generated requests at the doors of the wallet, seed ${TEST_SEED}`, () => {
  const random = new SeededRandom(TEST_SEED);
  let wallets: WalletWorld;
  let seller: HostileSeller;
  let sender: Sender;
  let maker: WalletRequestMaker;
  let secrets: readonly string[];

  beforeAll(async () => {
    wallets = await WalletWorld.start({
      ROLES: 'wallet',
      NODE_OPTIONS: '--inspect=127.0.0.1:0',
      WALLET_RATE_LIMIT: '100000',
      LOG_LEVEL: 'debug',
    });
    const { world } = wallets;
    const caip2 = `eip155:${world.chainId}`;
    const offer = {
      scheme: 'exact',
      network: caip2,
      asset: world.usd,
      amount: '1',
      payTo: newAccount().address,
      maxTimeoutSeconds: 60,
      extra: { name: USD_NAME, version: USD_VERSION },
    };
    const account = newAccount();
    await world.client.setBalance({ address: account.address, value: 10n ** 18n });
    const foreign = await world.client.sendTransaction({
      account,
      chain: null,
      to: account.address,
      value: 1n,
    });
    seller = await startHostileSeller(offer, foreign);
    const scopes = ['personal_sign', 'typed_data', 'permit'];
    const [strict, permissive, stopped] = [
      await wallets.fundedWallet(),
      await wallets.fundedWallet(),
      await wallets.fundedWallet(),
    ];
    const rules = wallets.rules({ scopes });
    await wallets.send('PUT', '/v1/wallets/me/policy', permissive.ownerToken, rules);
    const strangers = [newAccount(), newAccount()];
    maker = new WalletRequestMaker(
      [
        ...openDoors(random, [strict.owner, ...strangers]),
        ...insideDoors(random, {
          agents: [strict.agent, permissive.agent],
          owners: [permissive.ownerToken],
          stoppable: [stopped.agent],
          sellers: seller.urls,
          payment: () => transferData(world, permissive.address),
          caip2,
          rules,
        }),
      ],
      random,
    );
    secrets = [
      await wallets.keyOf(strict.owner.address),
      ADMIN_KEY,
      world.anvil.url,
      world.redis.url,
      strict.agent,
      permissive.agent,
      permissive.ownerToken,
      stopped.agent,
      'a-token-secret-of-at-least',
      'a-keystore-secret-of-at-least',
    ];
    sender = new Sender(wallets.url, AT_ONCE);
  });
  afterAll(async () => {
    sender.close();
    seller.stop();
    await wallets.stop();
  });

  const secretsIn = (text: string): readonly string[] =>
    secrets.filter((secret) => text.includes(secret.replace(/^0x/, '')));

  function problemsOf(_asked: GeneratedRequest, { status, text, headers }: Answered): string[] {
    const problems: string[] = [];
    if (status >= 500 && !text.includes(SELLERS_FAULT)) problems.push(`status ${status}`);
    if (secretsIn(text + headers).length > 0) problems.push('a secret');
    // Nothing is settled here, whatever sellers claim.
    if (/"status":\s?"paid/.test(text)) problems.push('said to be paid');
    if (/node_modules|\.js:\d|\bat .+:\d+:\d+/.test(text)) problems.push('a stack');
    return problems;
  }

  const run = (count: number) => sender.run(count, () => maker.next(), problemsOf);

  it('are answered without a 5xx, a secret, a leak or a stall', async () => {
    const inspector = await Inspector.of(wallets.service.log());
    await run(SHORT);
    const before = await inspector.usedHeap();
    await inspector.watchLoop();
    const statuses = await run(COUNT);
    const stall = await inspector.longestStall();
    const after = await inspector.usedHeap();
    inspector.close();
    console.log(
      `seed ${TEST_SEED}; answers by status: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}; ` +
        `heap ${(before / 2 ** 20).toFixed(1)} MiB before, ${(after / 2 ** 20).toFixed(1)} MiB after; ` +
        `longest stall ${stall.ownMs.toFixed(0)} ms (${stall.wallMs.toFixed(0)} ms with the waits for a core)`,
    );
    expect(stall.ownMs).toBeLessThan(STALL_ALLOWED_MS);
    expect(after - before).toBeLessThan(GROWTH_ALLOWED);
    // The run reached what it was meant to reach.
    for (const status of [200, 400, 401, 403, 404]) expect(statuses.get(status)).toBeGreaterThan(0);
    const log = wallets.service.log();
    expect(secretsIn(log)).toEqual([]);
    const errors = log.split('\n').filter((line) => /"level":(?:50|60)/.test(line));
    // Each answer that tells a seller's fault has its line, and nothing else has.
    expect(errors.filter((line) => !line.includes('"status":502'))).toEqual([]);
    expect((await get(`${wallets.url}/health/ready`)).status).toBe(200);
  });
});
