import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { GENERATIONS, STDIO } from './mcp-agents.js';
import { WalletWorld } from './wallet-world.js';

const PAGE = readFileSync(new URL('../../docs/wallet.md', import.meta.url), 'utf8');
const INFO = { name: 'test', version: '1' };

/** What a client is configured with, whatever its names for it are. */
interface Configured {
  readonly url?: string;
  readonly headers?: Record<string, string>;
  readonly command?: string;
  readonly args?: string[];
  readonly env?: Record<string, string>;
}

/** The snippet below the line that names a file. */
function snippet(file: string): string {
  const [, text = ''] = PAGE.split(`\`${file}\``)[1]?.match(/```\w+\n([\s\S]*?)```/) ?? [];
  return text;
}

function fromJson(file: string): Configured {
  const { servers, mcpServers } = JSON.parse(snippet(file)) as Record<
    string,
    Record<string, Configured & { readonly httpUrl?: string }>
  >;
  const { httpUrl, ...rest } = (servers ?? mcpServers)?.['x402-wallet'] ?? {};
  return { ...(httpUrl !== undefined && { url: httpUrl }), ...rest };
}

/** As much of TOML as the snippet has: its inline table is JSON except for the sign. */
function fromToml(file: string): Configured {
  const lines = snippet(file).matchAll(/^(\w+) = (.+)$/gm);
  const values = [...lines].map(([, name, value = '']) => [
    name,
    JSON.parse(value.replaceAll('" = "', '": "')) as unknown,
  ]);
  return Object.fromEntries(values) as Configured;
}

function fromCommand(): Configured {
  const line = /`claude mcp add --transport http x402-wallet (\S+) --header "(\w+): ([^"]+)"`/;
  const [, url = '', name = '', value = ''] = line.exec(PAGE) ?? [];
  return { url, headers: { [name]: value } };
}

describe('what docs/wallet.md says to put into a client', () => {
  let wallets: WalletWorld;
  let agent: string;
  let tokenFile: string;

  beforeAll(async () => {
    wallets = await WalletWorld.start();
    ({ agent } = await wallets.fundedWallet());
    tokenFile = join(wallets.dir, 'token');
    await writeFile(tokenFile, agent, { mode: 0o600 });
  });
  afterAll(() => wallets.stop());

  /** With this deployment in the place of the one that is named there. */
  const here = (configured: Configured): Configured => {
    const text = JSON.stringify(configured)
      .replaceAll('https://wallet.example', wallets.url)
      .replaceAll('Bearer TOKEN', `Bearer ${agent}`)
      .replaceAll('/home/me/.x402-wallet-token', tokenFile)
      .replaceAll('/path/to/this/repository/dist/wallet/mcp/stdio.js', STDIO);
    expect(text).not.toMatch(/wallet\.example|TOKEN"|\/path\/to/);
    return JSON.parse(text) as Configured;
  };

  describe.each([
    ['VS Code', () => fromJson('.vscode/mcp.json')],
    ['Cursor', () => fromJson('.cursor/mcp.json')],
    ['Gemini CLI', () => fromJson('~/.gemini/settings.json')],
    ['Claude Code', fromCommand],
    ['Codex', () => fromToml('~/.codex/config.toml')],
  ])('%s', (_, read) => {
    it.each(GENERATIONS)('connects the official client of %s', async (generation) => {
      const { url, headers = {}, command = '', args = [], env = {} } = here(read());
      const isNew = generation === '2026-07-28';
      const client = isNew
        ? new Client(INFO, { versionNegotiation: { mode: { pin: generation } } })
        : new OldClient(INFO);
      const program = { command, args, env };
      const [Http, Stdio] = isNew
        ? [StreamableHTTPClientTransport, StdioClientTransport]
        : [OldHttp, OldStdio];
      const channel =
        url === undefined
          ? new Stdio(program)
          : new Http(new URL(url), { requestInit: { headers } });
      await client.connect(channel);
      const { structuredContent } = await client.callTool({ name: 'wallet_get', arguments: {} });
      expect(structuredContent).toMatchObject({ active: true, custody: 'local' });
      await client.close();
    });
  });
});
