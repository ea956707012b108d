import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { PrivateKeyAccount } from 'viem/accounts';
import { freePort } from '../../sandbox/processes.js';
import { newAccount } from '../support/payments.js';
import { Browser } from '../wallet/oauth-visitors.js';
import { WalletWorld } from '../wallet/wallet-world.js';

const run = promisify(execFile);

/**
 * Of mcp-remote, through which clients that speak over pipes alone reach a server: one of each time. Those before 0.1.0
 * speak a transport that MCP has given up since, and that is not here.
 */
const RELEASES = ['0.1.0', '0.1.18', '0.1.38', '0.8.5', '0.15.1'];
const INSTALL_MS = 240_000;
const SIGN_IN_MS = 90_000;

/** As its own owner: opens the page that the program names, signs there, and goes back to the program. */
async function letIn(said: Readable, owner: PrivateKeyAccount): Promise<void> {
  let text = '';
  for await (const piece of said) {
    text += String(piece);
    const [link] = /http\S+\/oauth\/authorize\?\S+/.exec(text) ?? [];
    if (link === undefined || !text.includes(`${link}\n`)) continue;
    const browser = new Browser();
    await fetch(await browser.approve(await browser.open(link), owner));
    break;
  }
  // What it says afterwards is read, so that it does not stand still.
  said.resume();
}

describe('mcp-remote', () => {
  let wallets: WalletWorld;
  let folder: string;

  beforeAll(async () => {
    const port = await freePort();
    folder = await mkdtemp(join(tmpdir(), 'mcp-remote-'));
    await writeFile(join(folder, 'package.json'), '{ "private": true }');
    const packages = RELEASES.map((release) => `r${release}@npm:mcp-remote@${release}`);
    const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefix', folder];
    // Where npm's registry cannot be reached this says so, and nothing below is tried.
    await run('npm', ['install', ...options, ...packages], { timeout: INSTALL_MS });
    const settings = { WALLET_OAUTH: 'true', WALLET_PUBLIC_URL: `http://127.0.0.1:${port}` };
    wallets = await WalletWorld.start(settings, undefined, port);
  }, INSTALL_MS + 60_000);
  afterAll(async () => {
    await wallets.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(RELEASES)(
    '%s signs in and calls a tool',
    async (release) => {
      const program = join(folder, 'node_modules', `r${release}`, 'dist', 'proxy.js');
      const args = [program, `${wallets.url}/mcp`, String(await freePort()), '--allow-http'];
      const home = join(folder, `home-${release}`);
      const env = { PATH: process.env['PATH'] ?? '', HOME: home, MCP_REMOTE_CONFIG_DIR: home };
      const transport = new StdioClientTransport({
        command: process.execPath,
        args,
        env,
        stderr: 'pipe',
      });
      const client = new Client({ name: 'test', version: '1' });
      const owner = newAccount();
      const signedIn = letIn(transport.stderr as Readable, owner);
      await Promise.all([client.connect(transport, { timeout: SIGN_IN_MS }), signedIn]);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain('payment_pay');
      const result = await client.callTool({ name: 'wallet_get', arguments: {} });
      const ownerToken = await wallets.signIn(owner);
      const { body } = await wallets.send('GET', '/v1/wallets/me', ownerToken);
      expect(JSON.stringify(result)).toContain(String(body['ethereum']).toLowerCase());
      await client.close();
    },
    SIGN_IN_MS + 30_000,
  );
});
