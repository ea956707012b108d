import { mkdtempSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SIGNER } from '../../sandbox/accounts.js';
import { freePort } from '../../sandbox/processes.js';
import { type Service, startService } from '../../sandbox/service.js';
import { createApiKey } from '../../src/access/api-key.js';
import { ApiDescription } from '../support/api-description.js';
import { get } from '../support/http.js';
import { type Body, eip3009Body, type Json, newAccount, permit2Body } from '../support/payments.js';
import { World } from '../support/world.js';
import { Dice } from '../support/dice.js';
import { TEST_SEED } from '../support/seed.js';
import { usedHeap } from './heap.js';
import { type Api, type GeneratedRequest, RequestMaker } from './requests.js';

/** `npm run test:fuzz` runs 10 000; this many are part of `npm test`. */
const SHORT = 500;
const COUNT = Number(process.env['FUZZ_COUNT'] ?? SHORT);
const AT_ONCE = 8;
const PATIENCE_MS = 20_000;
/** Of the heap: code that ran for the first time, and what askers and keys leave for their lifetime. */
const GROWTH_ALLOWED = 16 * 1024 * 1024;
/** Of one request; node refuses headers above 16 KiB with 431 before anybody sees them. */
const REFUSED_BY_NODE = [400, 431];

jest.setTimeout(60_000 + COUNT * 60);

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: string;
}

describe(`${COUNT} generated requests, seed ${TEST_SEED}`, () => {
  const RPC_SECRET = 'rpc-secret-of-ours';
  const keys = [createApiKey('shop', ['verify', 'settle']), createApiKey('ops', ['admin'])];
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const dice = new Dice(TEST_SEED);
  let world: World;
  let service: Service;
  let described: ApiDescription;
  let maker: RequestMaker;

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.3 });
    const file = join(mkdtempSync(join(tmpdir(), 'x402-fuzz-')), 'keys.json');
    writeFileSync(file, JSON.stringify({ version: 1, keys: keys.map(({ record }) => record) }));
    service = await startService(
      await freePort(),
      world.settings({
        API_KEYS_FILE: file,
        [`RPC_URLS_${world.chainId}`]: `${world.anvil.url}/?key=${RPC_SECRET}`,
        SETTLE_WAIT_MS: '1000',
        LOG_LEVEL: 'trace',
      }),
      ['--inspect=127.0.0.1:0'],
    );
    const { body: api } = await get(`${service.url}/openapi.json`);
    described = new ApiDescription(api);
    const payer = await world.payer({ approves: true });
    const options = { payer, chainId: world.chainId, payTo: newAccount().address };
    const payments: Body[] = [
      await eip3009Body({ ...options, token: world.usd }),
      await permit2Body({ ...options, token: world.coin }),
    ];
    const apiKeys = keys.map(({ key }) => key);
    maker = new RequestMaker(api as unknown as Api, dice, apiKeys, payments);
  });
  afterAll(async () => {
    agent.destroy();
    await service.stop('SIGKILL');
    await world.stop();
  });

  function send({ method, path, headers, body }: GeneratedRequest): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const url = new URL(service.url);
      const options = { host: url.hostname, port: url.port, method: method.toUpperCase(), path };
      const sent = request({ ...options, headers, agent, timeout: PATIENCE_MS }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(chunks).toString('utf8'),
            headers: JSON.stringify(response.rawHeaders),
          });
        });
      });
      sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** What no answer and no line may hold, whoever asks. */
  function secretsOf(text: string): readonly string[] {
    const secrets = [
      SIGNER.key.slice(2),
      RPC_SECRET,
      world.anvil.url,
      world.redis.url,
      ...keys.flatMap(({ key, record }) => [key, record.sha256]),
    ];
    return secrets.filter((secret) => text.includes(secret));
  }

  function problemsOf(
    asked: GeneratedRequest,
    { status, text, headers }: Answered,
  ): readonly string[] {
    const problems: string[] = [];
    if (status >= 500) problems.push(`status ${status}`);
    if (secretsOf(text + headers).length > 0) problems.push('a secret');
    if (/node_modules|\.js:\d|\bat .+:\d+:\d+/.test(text)) problems.push('a stack');
    const operation = described.paths[asked.template]?.[asked.method];
    if (operation?.responses[String(status)] !== undefined) {
      const body = JSON.parse(text) as Json;
      problems.push(...described.problemsOf(asked.method, asked.template, status, body));
    } else if (operation !== undefined && !REFUSED_BY_NODE.includes(status)) {
      problems.push(`${status} is not described`);
    }
    return problems;
  }

  async function run(count: number): Promise<ReadonlyMap<number, number>> {
    const statuses = new Map<number, number>();
    let left = count;
    const one = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const asked = maker.next();
        const answered = await send(asked);
        statuses.set(answered.status, (statuses.get(answered.status) ?? 0) + 1);
        const problems = problemsOf(asked, answered);
        if (problems.length === 0) continue;
        const { method, path, headers, body } = asked;
        const shown = { method, path, headers, body: body?.toString('utf8').slice(0, 2000) };
        throw new Error(
          `${problems.join('; ')}\n${JSON.stringify(shown)}\n${answered.status} ${answered.text.slice(0, 1000)}`,
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    return statuses;
  }

  it('are answered as described, without a 5xx, a secret or a leak', async () => {
    const inspector = /ws:\/\/\S+/.exec(service.log())?.[0] ?? '';
    await run(SHORT / 2);
    const before = await usedHeap(inspector);
    const statuses = await run(COUNT);
    const after = await usedHeap(inspector);
    console.log(
      `seed ${TEST_SEED}; answers by status: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}; ` +
        `heap ${(before / 2 ** 20).toFixed(1)} MiB before, ${(after / 2 ** 20).toFixed(1)} MiB after`,
    );
    expect(after - before).toBeLessThan(GROWTH_ALLOWED);
    // The run reached what it was meant to reach.
    for (const status of [200, 400, 401, 404]) expect(statuses.get(status)).toBeGreaterThan(0);

    const log = service.log();
    expect(log).toContain('"msg":"request"');
    expect(secretsOf(log)).toEqual([]);
    expect(log).not.toMatch(/"level":(?:50|60)/);
    expect((await get(`${service.url}/health/ready`)).status).toBe(200);
  });
});
