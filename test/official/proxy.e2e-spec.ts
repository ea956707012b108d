import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { createPublicClient, http, parseAbi } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { freePort } from '../../sandbox/processes.js';
import { eventually, get, post } from '../support/http.js';
import { CLIENT, LANES, type OfficialWorld, SERVER, startOfficialWorld, USDC } from './world.js';

const PROXY = fileURLToPath(new URL('./proxy', import.meta.url));
const NETWORK = 'eip155:84532';

interface Config {
  readonly x402Versions: readonly number[];
  readonly schemes: readonly string[];
  readonly extensions: readonly string[];
}
interface Supported {
  readonly kinds: readonly {
    readonly x402Version: number;
    readonly scheme: string;
    readonly network: string;
  }[];
  readonly extensions: readonly string[];
  readonly signers: Readonly<Record<string, readonly string[]>>;
}

/** The two files that the official harness reads, started as the harness starts them. */
describe('the proxy for the official harness', () => {
  let world: OfficialWorld;
  let proxy: ChildProcess;
  let url: string;
  let output = '';

  beforeAll(async () => {
    world = await startOfficialWorld();
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    proxy = spawn('bash', ['run.sh'], {
      cwd: PROXY,
      stdio: 'pipe',
      env: {
        PATH: process.env['PATH'] ?? '',
        ...world.environment,
        PORT: String(port),
        EVM_PRIVATE_KEY: world.environment['FACILITATOR_EVM_PRIVATE_KEY'] ?? '',
      },
    });
    proxy.stdout?.on('data', (text: Buffer) => (output += text.toString()));
    proxy.stderr?.on('data', (text: Buffer) => (output += text.toString()));
    await eventually('it listens', () => output.includes('Facilitator listening'), 60_000);
  }, 120_000);
  afterAll(async () => {
    const gone = new Promise((resolve) => proxy.once('exit', resolve));
    proxy.kill('SIGTERM');
    await gone;
    await world.stop();
  });

  it('offers what its configuration says, and sends from none of the keys of the harness', async () => {
    const config = JSON.parse(readFileSync(`${PROXY}/test.config.json`, 'utf8')) as Config;
    const supported = (await get(`${url}/supported`)).body as unknown as Supported;
    for (const scheme of config.schemes) {
      expect(supported.kinds).toContainEqual(
        expect.objectContaining({ x402Version: 2, scheme, network: NETWORK }),
      );
    }
    expect(supported.kinds).toContainEqual(
      expect.objectContaining({ x402Version: 1, scheme: 'exact', network: 'base-sepolia' }),
    );
    expect(supported.extensions).toEqual(expect.arrayContaining([...config.extensions]));
    expect(
      Object.values(supported.signers)
        .flat()
        .map((one) => one.toLowerCase())
        .sort(),
    ).toEqual(LANES.map(({ address }) => address.toLowerCase()).sort());
  });

  it('settles a payment of the stock client in the token of Base Sepolia', async () => {
    const requirements = {
      scheme: 'exact',
      network: NETWORK,
      amount: '1000',
      asset: USDC,
      payTo: SERVER.address,
      maxTimeoutSeconds: 300,
      extra: { name: 'USDC', version: '2' },
    };
    const client = new x402Client()
      .register('eip155:*', new ExactEvmScheme(privateKeyToAccount(CLIENT.key)))
      .setSpendControls({ allowedAssets: true });
    const payload = await client.createPaymentPayload({
      x402Version: 2,
      resource: { url: 'http://localhost/x', description: '', mimeType: '' },
      accepts: [requirements],
    } as Parameters<x402Client['createPaymentPayload']>[0]);
    const body = { x402Version: 2, paymentPayload: payload, paymentRequirements: requirements };
    expect((await post(`${url}/verify`, body)).body).toMatchObject({ isValid: true });
    expect((await post(`${url}/settle`, body)).body).toMatchObject({ success: true });
    const chain = createPublicClient({ transport: http(world.rpcUrl) });
    const abi = parseAbi(['function balanceOf(address) view returns (uint256)']);
    const earned = await chain.readContract({
      address: USDC,
      abi,
      functionName: 'balanceOf',
      args: [SERVER.address],
    });
    expect(earned).toBe(1000n);
  });
});
