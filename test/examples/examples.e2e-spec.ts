import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Address } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { parse } from 'yaml';
import { sandboxAccount, SIGNER } from '../../sandbox/accounts.js';
import { freePort, type Started, startProgram } from '../../sandbox/processes.js';
import { PRICE } from '../../sandbox/seller.js';
import type { Service } from '../../sandbox/service.js';
import { WalletOwner, walletSettings } from '../../sandbox/wallet.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { SETTING_NAMES } from '../../src/platform/config/app-config.js';
import { eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { type Env, type Finished, INSTALL_MS, pythonWith, ROOT, run } from '../support/programs.js';
import { World } from '../support/world.js';

const EXAMPLES = join(ROOT, 'examples');
/** V1 has a name for it. */
const CHAIN_ID = 56;
const NETWORK = `eip155:${CHAIN_ID}`;

const node = (file: string, args: readonly string[], env: Env): Promise<Finished> =>
  run(process.execPath, [join(EXAMPLES, file), ...args], env);

/** The Python of an example. */
const python = (example: string): string =>
  join(pythonWith(join(EXAMPLES, example, 'requirements.txt')), 'python');

describe('examples', () => {
  let world: World;
  let service: Service;
  let seller: Started;
  let sellerUrl: string;
  let walletDir: string;
  const payTo = newAccount().address;

  const sellerSettings = (port: number): Env => ({
    FACILITATOR_URL: service.url,
    ASSET: world.usd,
    PAY_TO: payTo,
    PORT: String(port),
  });

  const startSeller = async (
    file: string,
    more: Env = {},
    program = process.execPath,
  ): Promise<[Started, string]> => {
    const port = await freePort();
    const started = await startProgram(
      program,
      [join(EXAMPLES, file)],
      (output) => output.includes('selling at'),
      { env: { PATH: process.env['PATH'] ?? '', ...sellerSettings(port), ...more } },
    );
    return [started, `http://127.0.0.1:${port}/report`];
  };

  /** What an example prints of a purchase, and what the chain says of it. */
  async function expectPurchase(bought: Promise<Finished>, from: Address): Promise<void> {
    const before = await world.balance(world.usd, payTo);
    const { status, output } = await bought;
    expect(output).toContain('All is well.');
    expect(status).toBe(0);
    const hash = /transaction (0x[0-9a-f]{64})/.exec(output)?.[1] as `0x${string}`;
    const receipt = await world.client.getTransactionReceipt({ hash });
    expect(receipt.status).toBe('success');
    expect((await world.balance(world.usd, payTo)) - before).toBe(PRICE);
    expect(await world.balance(world.usd, from)).toBe(0n);
  }

  async function newBuyer(): Promise<{ key: `0x${string}`; address: Address }> {
    const key = generatePrivateKey();
    const { address } = privateKeyToAccount(key);
    await world.fund(address, PRICE);
    return { key, address };
  }

  beforeAll(async () => {
    world = await World.start({ chainId: CHAIN_ID, blockTime: 0.3 });
    walletDir = mkdtempSync(join(tmpdir(), 'examples-'));
    const tokens = { usd: world.usd, coin: world.coin };
    service = await world.service({
      ROLES: 'api,worker,wallet',
      ...walletSettings(NETWORK, tokens, walletDir, []),
      WALLET_FETCH_ALLOW: '127.0.0.1',
    });
    [seller, sellerUrl] = await startSeller('seller-express/server.mjs', { NETWORK });
  });
  afterAll(async () => {
    await seller.stop();
    await world.stop();
    rmSync(walletDir, { recursive: true, force: true });
  });

  it('has a page for each, and a line in the list', () => {
    const folders = readdirSync(EXAMPLES, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    const list = readFileSync(join(EXAMPLES, 'README.md'), 'utf8');
    const listed = [...list.matchAll(/^\| \[[^\]]+\]\(([^)]+)\)/gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual(folders.sort());
    for (const name of folders) expect(existsSync(join(EXAMPLES, name, 'README.md'))).toBe(true);
  });

  it('seller-express sells to buyer-fetch', async () => {
    const { key, address } = await newBuyer();
    const settings = { BUYER_KEY: key, NETWORK, ASSET: world.usd };
    await expectPurchase(node('buyer-fetch/buy.mjs', [sellerUrl], settings), address);
  });

  it('the seller of the README sells as it is printed there', async () => {
    const [, text = ''] =
      /```js\n([^]*?)```/.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? [];
    const port = await freePort();
    // Below the packages, so that it finds them.
    const folder = mkdtempSync(join(ROOT, 'node_modules', '.cache', 'readme-'));
    const state = join(folder, 'state.json');
    writeFileSync(state, JSON.stringify({ usd: world.usd }));
    const here: Readonly<Record<string, string>> = {
      'eip155:31337': NETWORK,
      '.sandbox/state.json': state,
      'http://127.0.0.1:4022': service.url,
      '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC': payTo,
      'listen(4031': `listen(${port}`,
    };
    const file = join(folder, 'seller.mjs');
    let own = text;
    for (const [printed, value] of Object.entries(here)) {
      expect(own).toContain(printed);
      own = own.replaceAll(printed, value);
    }
    writeFileSync(file, own);
    const started = await startProgram(process.execPath, [file], (output) =>
      output.includes('selling at'),
    );
    try {
      const { key, address } = await newBuyer();
      const settings = { BUYER_KEY: key, NETWORK, ASSET: world.usd };
      const url = `http://127.0.0.1:${port}/report`;
      await expectPurchase(node('buyer-fetch/buy.mjs', [url], settings), address);
    } finally {
      await started.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('buyer-fetch pays with no token it was not given', async () => {
    const { key, address } = await newBuyer();
    const settings = { BUYER_KEY: key, NETWORK, ASSET: world.coin };
    const { status } = await node('buyer-fetch/buy.mjs', [sellerUrl], settings);
    expect(status).not.toBe(0);
    expect(await world.balance(world.usd, address)).toBe(PRICE);
  });

  deep(
    'seller-express sells to buyer-python',
    async () => {
      const { key, address } = await newBuyer();
      const program = python('buyer-python');
      const script = join(EXAMPLES, 'buyer-python', 'buy.py');
      const buyWith = (asset: Address): Promise<Finished> =>
        run(program, [script, sellerUrl], { BUYER_KEY: key, NETWORK, ASSET: asset });
      expect((await buyWith(world.coin)).status).not.toBe(0);
      expect(await world.balance(world.usd, address)).toBe(PRICE);
      await expectPurchase(buyWith(world.usd), address);
    },
    INSTALL_MS,
  );

  deep(
    'seller-python sells to buyer-fetch, and to nobody without money',
    async () => {
      const [flask, url] = await startSeller(
        'seller-python/server.py',
        { NETWORK },
        python('seller-python'),
      );
      try {
        const { key, address } = await newBuyer();
        const buy = (buyerKey: string): Promise<Finished> =>
          node('buyer-fetch/buy.mjs', [url], { BUYER_KEY: buyerKey, NETWORK, ASSET: world.usd });
        await expectPurchase(buy(key), address);
        const refused = await buy(generatePrivateKey());
        expect([refused.status, refused.output]).toEqual([1, expect.stringContaining('402')]);
      } finally {
        await flask.stop();
      }
    },
    INSTALL_MS,
  );

  it('seller-v1 sells to its buyer, and to nobody without money', async () => {
    const [v1, url] = await startSeller('seller-v1/server.mjs', { NETWORK: 'bsc' });
    try {
      const { key, address } = await newBuyer();
      const buy = (buyerKey: string): Promise<Finished> =>
        node('seller-v1/buy.mjs', [], {
          BUYER_KEY: buyerKey,
          URL: url,
          CHAIN_ID: String(CHAIN_ID),
        });
      await expectPurchase(buy(key), address);
      const refused = await buy(generatePrivateKey());
      expect(refused.status).toBe(1);
      expect(refused.output).toContain('402');
      expect(refused.output).toContain('insufficient');
      expect((await fetch(url, { headers: { 'x-payment': 'nonsense' } })).status).toBe(402);
    } finally {
      await v1.stop();
    }
  });

  deep('receipt-check takes a receipt as it was given, and no other', async () => {
    const { key, record } = createApiKey('shop', ['settle', 'history'], [payTo]);
    const keys = join(walletDir, 'keys.json');
    writeFileSync(keys, JSON.stringify({ version: 1, keys: [record] }));
    const signing = await world.service({
      ROLES: 'api',
      SIGNER_KEYS: '',
      API_KEYS_FILE: keys,
      RECEIPT_KEY: generatePrivateKey(),
    });
    const payer = await world.payer();
    const { chainId, usd: token } = world;
    const headers = { 'X-API-Key': key };
    const payment = await eip3009Body({ payer, chainId, token, payTo });
    const { body: settled } = await post(`${signing.url}/settle`, payment, headers);
    expect(settled).toMatchObject({ success: true });
    const { settlementId } = settled['extra'] as { settlementId: string };
    const url = `${signing.url}/v2/settlements/${settlementId}/receipt`;
    const given = (await (await fetch(url, { headers })).json()) as {
      readonly receipt: object;
      readonly eip712: object;
      readonly jws: string;
    };
    const check = (receipt: object): Promise<Finished> => {
      const file = join(walletDir, 'receipt.json');
      writeFileSync(file, JSON.stringify(receipt));
      return node('receipt-check/verify.mjs', [file], { FACILITATOR_URL: signing.url });
    };
    const checked = await check(given);
    expect(checked.output).toContain(`paid ${payTo.toLowerCase()} 1000 of ${token.toLowerCase()}`);
    expect(checked.output).toContain(String(settled['transaction']));
    expect(checked.status).toBe(0);
    const [header, , signature] = given.jws.split('.');
    const dearer = { ...given.receipt, amount: '9000' };
    const payload = Buffer.from(JSON.stringify(dearer)).toString('base64url');
    for (const forged of [
      { ...given, receipt: dearer },
      { ...given, jws: [header, payload, signature].join('.') },
      { ...given, eip712: { ...given.eip712, signer: payTo } },
    ]) {
      expect((await check(forged)).status).not.toBe(0);
    }
  });

  it('agent-mcp buys once for one intent, within the rules', async () => {
    const owner = new WalletOwner(service.url, privateKeyToAccount(generatePrivateKey()));
    const place = { rpcUrl: world.anvil.url, usd: world.usd };
    const wallet = await owner.prepareWallet(place, { perPayment: '1', budget: '0.15' });
    const tokenFile = join(walletDir, 'token');
    writeFileSync(tokenFile, wallet.token);
    const agent = (intentId: string): Promise<Finished> =>
      node('agent-mcp/agent.mjs', [sellerUrl, intentId], {
        X402_WALLET_URL: service.url,
        X402_WALLET_TOKEN_FILE: tokenFile,
      });
    const held = await world.balance(world.usd, wallet.address);
    const first = await agent('a-report');
    expect(first.output).toContain('costs 0.1');
    expect(first.output).toContain('All is well.');
    expect(first.status).toBe(0);
    const again = await agent('a-report');
    expect(again.output).toBe(first.output.replace('allowed: true', 'allowed: false'));
    expect(held - (await world.balance(world.usd, wallet.address))).toBe(PRICE);
    const beyond = await agent('another-report');
    expect(beyond.status).toBe(1);
    expect(beyond.output).toContain('budget');
  });

  describe('two-workers', () => {
    interface ComposeService {
      readonly environment?: Readonly<Record<string, string>>;
      readonly ports?: readonly string[];
      readonly secrets?: readonly string[];
      readonly command?: readonly string[];
      readonly read_only?: boolean;
      readonly cap_drop?: readonly string[];
    }
    const text = readFileSync(join(EXAMPLES, 'two-workers', 'docker-compose.yml'), 'utf8');
    // As strict as Compose itself: a key that stands there twice is an error.
    const { services } = parse(text, { strict: true, uniqueKeys: true, merge: true }) as {
      readonly services: Readonly<Record<string, ComposeService>>;
    };
    const processes = ['api', 'worker-1', 'worker-2'];

    it('has the processes, and keys where lanes are held alone', () => {
      expect(Object.keys(services).sort()).toEqual([...processes, 'redis'].sort());
      for (const name of processes) {
        const { environment = {}, read_only, cap_drop, secrets = [] } = services[name] ?? {};
        expect([read_only, cap_drop]).toEqual([true, ['ALL']]);
        const settings = Object.keys(environment).map((one) => one.replace(/_FILE$/, ''));
        expect(settings.filter((one) => !SETTING_NAMES.includes(one))).toEqual([]);
        expect(secrets).toEqual(name === 'api' ? [] : ['signer-keys']);
        expect('SIGNER_KEYS_FILE' in environment).toBe(name !== 'api');
      }
    });

    it('publishes the answering process alone, and to this machine alone', () => {
      const published = Object.entries(services).filter(([, { ports = [] }]) => ports.length > 0);
      expect(published.map(([name, { ports }]) => [name, ports])).toEqual([
        ['api', ['${BIND_ADDRESS:-127.0.0.1}:${PUBLISHED_PORT:-4022}:4022']],
      ]);
    });

    it('keeps a Redis that writes before it answers', () => {
      expect(services['redis']?.command).toEqual([
        'redis-server',
        '--appendonly',
        'yes',
        '--appendfsync',
        'always',
        '--maxmemory-policy',
        'noeviction',
      ]);
    });

    deep('settles with a lane for each worker, and goes on without one of them', async () => {
      const own = await World.start({ blockTime: 0.3 });
      try {
        const keys = `${SIGNER.key},${sandboxAccount(5).key}`;
        const start = (name: string): Promise<Service> => {
          const { ROLES = '' } = services[name]?.environment ?? {};
          return own.service({ ROLES, SIGNER_KEYS: name === 'api' ? '' : keys });
        };
        // The second worker comes when the first holds every lane, as containers do.
        const api = await start('api');
        const first = await start('worker-1');
        const second = await start('worker-2');
        const settle = async (): Promise<unknown> => {
          const payer = await own.payer();
          const { chainId, usd: token } = own;
          const payment = await eip3009Body({ payer, chainId, token, payTo });
          return (await post(`${api.url}/settle`, payment)).body['success'];
        };
        await eventually('each worker has a lane', async () => {
          const { body } = await get(`${first.opsUrl}/health`);
          const { lanes } = body['info'] as { lanes: Record<string, { owner?: string }> };
          return new Set(Object.values(lanes).map(({ owner }) => owner)).size === 2;
        });
        expect(await settle()).toBe(true);
        await second.stop('SIGKILL');
        expect(await settle()).toBe(true);
      } finally {
        await own.stop();
      }
    });
  });
});
