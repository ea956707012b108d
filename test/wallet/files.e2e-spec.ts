import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PrivateKeyAccount } from 'viem/accounts';
import { freePort } from '../../sandbox/processes.js';
import { ApiDescription } from '../support/api-description.js';
import { get } from '../support/http.js';
import { HUB_ADDRESS } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { GENERATIONS, type McpAgent, mcpAgent, type ToolResult, TRANSPORTS } from './mcp-agents.js';
import { WalletWorld } from './wallet-world.js';

const run = promisify(execFile);
const sha256Of = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

const EVERY_WAY = GENERATIONS.flatMap((generation) =>
  TRANSPORTS.map((transport) => [generation, transport] as const),
);

describe('files that agents keep', () => {
  let wallets: WalletWorld;
  const agents: McpAgent[] = [];

  beforeAll(async () => {
    const port = await freePort();
    wallets = await WalletWorld.start(
      {
        ROLES: 'wallet,hub',
        HUB_MODE: 'private',
        HUB_ADDRESS,
        HUB_STORAGE: 'memory',
        RATE_LIMIT_HUB: '0',
        WALLET_HUB_URL: `http://127.0.0.1:${port}/api`,
        WALLET_FETCH_MAX_BYTES: '65536',
      },
      undefined,
      port,
    );
  });
  afterAll(async () => {
    for (const agent of agents) await agent.close();
    await wallets.stop();
  });

  const agentOf = async (
    owner: PrivateKeyAccount,
    transport: (typeof TRANSPORTS)[number] = 'HTTP',
  ): Promise<McpAgent> => {
    const token = await wallets.agentOf(owner);
    const agent = await mcpAgent('2026-07-28', transport, wallets.url, token);
    agents.push(agent);
    return agent;
  };
  const dataOf = async (asked: Promise<ToolResult>): Promise<Record<string, unknown>> => {
    const { isError, data, text } = await asked;
    expect([isError, text]).toEqual([false, JSON.stringify(data)]);
    return { ...data };
  };
  const refusalOf = async (asked: Promise<ToolResult>): Promise<Record<string, unknown>> => {
    const { isError, data } = await asked;
    expect(isError).toBe(true);
    return data['refusal'] as Record<string, unknown>;
  };
  const read = async (url: string): Promise<readonly [number, string]> => {
    const response = await fetch(url);
    return [response.status, await response.text()];
  };

  it.each(TRANSPORTS)('are stored, read, listed, shared and deleted over %s', async (transport) => {
    const agent = await agentOf(newAccount(), transport);
    const content = 'Ünïcode, and a "quote"\n';
    const facts = { name: 'notes of today.md', size: 25, sha256: sha256Of(content) };
    const { name } = facts;
    const put = { name, content, contentType: 'text/markdown' };
    expect(await dataOf(agent.call('hub_put', put))).toEqual(facts);
    expect(await dataOf(agent.call('hub_get', { name }))).toMatchObject({
      ...facts,
      content,
      encoding: 'utf8',
    });
    expect(await dataOf(agent.call('hub_list', {}))).toMatchObject({
      files: [{ name, size: facts.size }],
    });

    const once = await dataOf(agent.call('hub_share', { name, once: true, seconds: 600 }));
    expect(once).toMatchObject({ ...facts, once: true });
    expect(await read(String(once['url']))).toEqual([200, content]);
    expect((await read(String(once['url'])))[0]).toBe(410);

    const kept = String((await dataOf(agent.call('hub_share', { name })))['url']);
    const newest = await dataOf(agent.call('hub_share', { name, newest: true }));
    expect(await read(kept)).toEqual([200, content]);
    await agent.call('hub_put', { name, content: 'another' });
    // The link shares the version of its time.
    expect((await read(kept))[0]).toBe(410);
    expect(await read(String(newest['url']))).toEqual([200, 'another']);
    const back = await dataOf(agent.call('hub_unshare', { link: String(newest['url']) }));
    expect(back).toEqual({ takenBack: 'link' });
    expect((await read(String(newest['url'])))[0]).toBe(410);

    expect(await dataOf(agent.call('hub_delete', { name }))).toEqual({ name, isDeleted: true });
    for (const tool of ['hub_get', 'hub_share', 'hub_delete']) {
      expect(await refusalOf(agent.call(tool, { name }))).toEqual({
        code: 'not_found',
        error: 'There is no such file.',
      });
    }
    expect(await dataOf(agent.call('hub_list', {}))).toEqual({ files: [] });
  });

  it.each(EVERY_WAY)('are resources to a client of %s over %s', async (generation, transport) => {
    const token = await wallets.agentOf(newAccount());
    const agent = await mcpAgent(generation, transport, wallets.url, token);
    agents.push(agent);
    expect((await agent.resources()).resources).toEqual([]);
    const name = 'ü & b.txt';
    await dataOf(agent.call('hub_put', { name, content: 'plain' }));
    const raw = Buffer.from([0xff, 0]).toString('base64');
    await dataOf(agent.call('hub_put', { name: 'raw', content: raw, encoding: 'base64' }));
    const { resources } = await agent.resources();
    const uri = `hub://file/${encodeURIComponent(name)}`;
    expect(resources).toMatchObject([
      { uri: 'hub://file/raw', name: 'raw', size: 2 },
      { uri, name, size: 5 },
    ]);
    expect(await agent.read(uri)).toMatchObject([{ uri, text: 'plain' }]);
    expect(await agent.read('hub://file/raw')).toMatchObject([{ blob: raw }]);
    for (const unknown of [
      'hub://file/none',
      'hub://file/..',
      'hub://file/%',
      'file:///etc/passwd',
    ]) {
      await expect(agent.read(unknown)).rejects.toThrow();
    }
    const long = 'x'.repeat(65_537);
    await dataOf(agent.call('hub_put', { name: 'long', content: long }));
    await expect(agent.read('hub://file/long')).rejects.toThrow(/too large/);
  });

  it('are listed as resources by the hundred', async () => {
    const token = await wallets.agentOf(newAccount());
    // The newer client asks for all pages by itself.
    const [newer, older] = await Promise.all(
      GENERATIONS.map((one) => mcpAgent(one, 'HTTP', wallets.url, token)),
    );
    if (newer === undefined || older === undefined) throw new Error('there are two generations');
    agents.push(newer, older);
    for (let n = 0; n < 101; n += 1) {
      await dataOf(newer.call('hub_put', { name: `n${n}`, content: 'x' }));
    }
    expect((await newer.resources()).resources).toHaveLength(101);
    const first = await older.resources();
    const second = await older.resources(first.nextCursor);
    expect([first.resources.length, second.resources.map(({ name }) => name)]).toEqual([
      100,
      ['n0'],
    ]);
    expect(second.nextCursor).toBeUndefined();
  });

  it('take bytes that never pass through a model, by an address that is good once', async () => {
    const agent = await agentOf(newAccount());
    const bytes = randomBytes(300_000);
    const file = join(wallets.dir, 'film.bin');
    await writeFile(file, bytes);
    const asked = { name: 'film.bin', maxBytes: 300_000, contentType: 'video/mp4' };
    const address = await dataOf(agent.call('hub_put_url', asked));
    expect(address).toMatchObject({ method: 'PUT', headers: { 'content-type': 'video/mp4' } });
    const upload = async (): Promise<string> => {
      const url = String(address['url']);
      const flags = ['-s', '-o', '/dev/null', '-w', '%{http_code}'];
      return (await run('curl', [...flags, '-H', 'content-type: video/mp4', '-T', file, url]))
        .stdout;
    };
    expect(await upload()).toBe('200');
    expect(await upload()).toBe('410');
    const { content, ...facts } = await dataOf(agent.call('hub_get', { name: 'film.bin' }));
    expect([content, facts]).toEqual([
      undefined,
      expect.objectContaining({ size: 300_000, sha256: sha256Of(bytes) }),
    ]);
    const link = await dataOf(agent.call('hub_share', { name: 'film.bin' }));
    const shared = await fetch(String(link['url']));
    expect(sha256Of(new Uint8Array(await shared.arrayBuffer()))).toBe(sha256Of(bytes));
    // One for other bytes than those it names stores none, and taken back it stores nothing.
    const exact = { name: 'b', sha256: sha256Of('this') };
    const { url } = await dataOf(agent.call('hub_put_url', exact));
    const put = async (body: string): Promise<number> =>
      (await fetch(String(url), { method: 'PUT', body })).status;
    expect(await put('that')).toBe(400);
    await dataOf(agent.call('hub_unshare', { link: 'all' }));
    expect(await put('this')).toBe(410);
  });

  describe('lose the links of a token', () => {
    const put = async (url: unknown): Promise<number> =>
      (await fetch(String(url), { method: 'PUT', body: 'from elsewhere' })).status;
    const linksOf = async (agent: McpAgent, name: string) => {
      const shared = await dataOf(agent.call('hub_share', { name }));
      const incoming = await dataOf(agent.call('hub_put_url', { name: `${name} incoming` }));
      return [String(shared['url']), String(incoming['url'])] as const;
    };

    it('that its owner ends, and of no other', async () => {
      const owner = newAccount();
      const [one, other] = [await agentOf(owner), await agentOf(owner)];
      await dataOf(one.call('hub_put', { name: 'note', content: 'mine' }));
      const [shared, incoming] = await linksOf(one, 'note');
      const ownerToken = await wallets.signIn(owner);
      const listed = await wallets.send('GET', '/v1/wallets/me/tokens', ownerToken);
      const tokens = listed.body['tokens'] as { id: string; role: string; lastUsedAt?: number }[];
      const [, first] = tokens.filter(({ role }) => role === 'agent');
      const [others, toOthers] = await linksOf(other, 'note');
      await wallets.send('DELETE', `/v1/wallets/me/tokens/${first?.id ?? ''}`, ownerToken);
      const ended = [(await read(shared))[0], await put(incoming)];
      const kept = [(await read(others))[0], await put(toOthers)];
      // Links made in one second may end in either order.
      expect([ended, kept].sort()).toEqual([
        [200, 200],
        [410, 410],
      ]);
    });

    it('when its owner ends all, though the wallet is stopped; new ones are good at once', async () => {
      const owner = newAccount();
      const agent = await agentOf(owner);
      await dataOf(agent.call('hub_put', { name: 'note', content: 'mine' }));
      const links = await linksOf(agent, 'note');
      const ownerToken = await wallets.signIn(owner);
      const rules = wallets.rules({ active: false });
      const stopped = await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, rules);
      expect(stopped.status).toBe(200);
      expect((await wallets.post('/v1/logout/all', {}, ownerToken)).status).toBe(200);
      expect([(await read(links[0]))[0], await put(links[1])]).toEqual([410, 410]);
      const again = await wallets.signIn(owner);
      await wallets.send('PUT', '/v1/wallets/me/policy', again, wallets.rules());
      const fresh = await agentOf(owner);
      await dataOf(fresh.call('hub_put', { name: 'note', content: 'again' }));
      const [shared, incoming] = await linksOf(fresh, 'note');
      expect([await read(shared), await put(incoming)]).toEqual([[200, 'again'], 200]);
    });

    it('of a wallet that has stored nothing', async () => {
      const owner = newAccount();
      const agent = await agentOf(owner);
      const { url } = await dataOf(agent.call('hub_put_url', { name: 'first' }));
      await wallets.post('/v1/logout/all', {}, await wallets.signIn(owner));
      expect(await put(url)).toBe(410);
    });

    it('of a wallet that has stored nothing, when its agent takes all back', async () => {
      const agent = await agentOf(newAccount());
      const { url } = await dataOf(agent.call('hub_put_url', { name: 'first' }));
      expect(await dataOf(agent.call('hub_unshare', { link: 'all' }))).toEqual({
        takenBack: 'all',
      });
      expect(await put(url)).toBe(410);
    });
  });

  it('are bytes where they are no text, and come back whole up to the size of a message', async () => {
    const agent = await agentOf(newAccount());
    for (const [size, isShown] of [
      [1, true],
      [65_536, true],
      [65_537, false],
    ] as const) {
      const bytes = Buffer.alloc(size, 0xff);
      const content = bytes.toString('base64');
      await dataOf(agent.call('hub_put', { name: 'raw', content, encoding: 'base64' }));
      const got = await dataOf(agent.call('hub_get', { name: 'raw' }));
      expect(got).toMatchObject({ size, sha256: sha256Of(bytes) });
      expect(got['content']).toBe(isShown ? content : undefined);
    }
  });

  it('belong to one wallet: another sees none, and its links are its own', async () => {
    const [mine, theirs] = [await agentOf(newAccount()), await agentOf(newAccount())];
    await dataOf(mine.call('hub_put', { name: 'private', content: 'mine' }));
    expect(await refusalOf(theirs.call('hub_get', { name: 'private' }))).toMatchObject({
      code: 'not_found',
    });
    expect(await dataOf(theirs.call('hub_list', {}))).toEqual({ files: [] });
    await dataOf(theirs.call('hub_put', { name: 'x', content: 'theirs' }));
    const { url } = await dataOf(mine.call('hub_share', { name: 'private' }));
    expect((await refusalOf(theirs.call('hub_unshare', { link: String(url) })))['code']).toBe(
      'forbidden',
    );
    await dataOf(theirs.call('hub_unshare', { link: 'all' }));
    expect(await read(String(url))).toEqual([200, 'mine']);
  });

  it('are not written, shared or deleted for a wallet that its owner has stopped', async () => {
    const owner = newAccount();
    const agent = await agentOf(owner);
    await dataOf(agent.call('hub_put', { name: 'a', content: 'kept' }));
    await wallets.post('/v1/wallets/me/stop', '', await wallets.signIn(owner));
    for (const [tool, given] of [
      ['hub_put', { name: 'a', content: 'other' }],
      ['hub_put_url', { name: 'a' }],
      ['hub_share', { name: 'a' }],
      ['hub_delete', { name: 'a' }],
      ['hub_unshare', { link: 'all' }],
    ] as const) {
      const refusal = await refusalOf(agent.call(tool, given));
      expect([tool, refusal['code'], refusal['rule']]).toEqual([
        tool,
        'policy_violation',
        'kill_switch',
      ]);
    }
    expect(await dataOf(agent.call('hub_get', { name: 'a' }))).toMatchObject({ content: 'kept' });
  });

  it.each([
    ['hub_put', { name: '../a', content: 'x' }],
    ['hub_put', { name: '..', content: 'x' }],
    ['hub_put', { name: 'a"b', content: 'x' }],
    ['hub_put', { name: 'a\nb', content: 'x' }],
    ['hub_put', { name: 'a'.repeat(129), content: 'x' }],
    ['hub_put', { name: 'a', content: '' }],
    ['hub_put', { name: 'a', content: 'x', contentType: 'text/html; charset=x' }],
    ['hub_put', { name: 'a', content: 'x'.repeat(262_145) }],
    ['hub_put_url', { name: 'a', seconds: 604_801 }],
    ['hub_put_url', { name: 'a', maxBytes: 0 }],
    ['hub_share', { name: 'a', seconds: 2_592_001 }],
    ['hub_list', { limit: 101 }],
  ])('are not asked for by nonsense: %s %j', async (tool, given) => {
    const { isError, text } = await (await agentOf(newAccount())).call(tool, given);
    expect([isError, text]).toEqual([true, expect.stringMatching(/^Input validation error/)]);
  });

  it('are refused as no base64, and as no link of ours', async () => {
    const agent = await agentOf(newAccount());
    for (const content of ['%%%', 'YQ==YQ==', '=']) {
      const put = agent.call('hub_put', { name: 'a', content, encoding: 'base64' });
      expect((await refusalOf(put))['code']).toBe('invalid_request');
    }
    for (const link of [
      '',
      'every',
      `${wallets.url}/api/object?link=eyJ9`,
      'http://x/api/shared',
    ]) {
      const taken = agent.call('hub_unshare', { link });
      expect((await refusalOf(taken))['code']).toBe('invalid_request');
    }
  });

  it('are described at /openapi.json', async () => {
    const api = new ApiDescription((await get(`${wallets.url}/openapi.json`)).body);
    const token = await wallets.agentOf(newAccount());
    const expectDescribed = async (verb: string, body: object, status = 200): Promise<void> => {
      const path = `/v1/wallets/me/files/${verb}`;
      const answer = await wallets.post(path, body, token);
      const problems = api.problemsOf('post', path, answer.status, answer.body);
      expect([verb, answer.status, problems]).toEqual([verb, status, []]);
    };
    await expectDescribed('put', { name: 'a', content: 'x' });
    await expectDescribed('get', { name: 'a' });
    await expectDescribed('list', { limit: 1 });
    await expectDescribed('share', { name: 'a' });
    await expectDescribed('upload-address', { name: 'b' });
    await expectDescribed('unshare', { link: 'all' });
    await expectDescribed('delete', { name: 'a' });
    await expectDescribed('get', { name: 'a' }, 404);
    await expectDescribed('put', { name: 'a' }, 400);
  });

  it('are not offered where the operator has named no hub, nor by a hub that is away', async () => {
    const owner = newAccount();
    const bare = await wallets.another({ ROLES: 'wallet', WALLET_HUB_URL: '' });
    const token = await wallets.agentOf(owner);
    const agent = await mcpAgent('2026-07-28', 'HTTP', bare.url, token);
    const names = (await agent.tools()).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('hub_'))).toEqual([]);
    await agent.close();
    const alone = await mcpAgent('2026-07-28', 'stdio', bare.url, token);
    expect((await refusalOf(alone.call('hub_list', {})))['code']).toBe('not_found');
    await alone.close();

    const lost = await wallets.another({ ROLES: 'wallet', WALLET_HUB_URL: 'http://127.0.0.1:9' });
    const other = await mcpAgent('2026-07-28', 'HTTP', lost.url, token);
    expect(await refusalOf(other.call('hub_list', {}))).toEqual({
      code: 'fetch_failed',
      error: 'The file hub could not be reached, or did not answer in time.',
    });
    await other.close();
    await Promise.all([bare.stop('SIGKILL'), lost.stop('SIGKILL')]);
  });
});
