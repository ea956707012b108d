import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SIGNER } from '../../sandbox/accounts.js';
import { freePort } from '../../sandbox/processes.js';
import { type Service, startService } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { ApiDescription } from '../support/api-description.js';
import { get } from '../support/http.js';
import { Inspector } from '../support/inspector.js';
import { type Body, eip3009Body, type Json, newAccount, permit2Body } from '../support/payments.js';
import { TEST_SEED } from '../support/seed.js';
import { SeededRandom } from '../support/seeded-random.js';
import { World } from '../support/world.js';
import { type Api, type GeneratedRequest, RequestMaker } from './requests.js';
import { type Answered, Sender } from './sender.js';

/** `npm run test:fuzz` runs 10 000; this many are part of `npm test`. */
const SHORT = 500;
const COUNT = Number(process.env['FUZZ_COUNT'] ?? SHORT);
const AT_ONCE = 8;
/** Of the heap: code that ran for the first time, and what askers and keys leave for their lifetime. */
const GROWTH_ALLOWED = 16 * 1024 * 1024;
/** Every other request waits as long. */
const STALL_ALLOWED_MS = 200;
/** Of one request; node refuses headers above 16 KiB with 431 before anybody sees them. */
const REFUSED_BY_NODE = [400, 431];

jest.setTimeout(60_000 + COUNT * 60);

describe(`${COUNT} generated requests, seed ${TEST_SEED}`, () => {
  const RPC_SECRET = 'rpc-secret-of-ours';
  const keys = [createApiKey('shop', ['verify', 'settle']), createApiKey('ops', ['admin'])];
  const random = new SeededRandom(TEST_SEED);
  let world: World;
  let service: Service;
  let sender: Sender;
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
    sender = new Sender(service.url, AT_ONCE, service.opsUrl);
    const { body: api } = await get(`${service.url}/openapi.json`);
    described = new ApiDescription(api);
    const payer = await world.payer({ approves: true });
    const options = { payer, chainId: world.chainId, payTo: newAccount().address };
    const payments: Body[] = [
      await eip3009Body({ ...options, token: world.usd }),
      await permit2Body({ ...options, token: world.coin }),
    ];
    const apiKeys = keys.map(({ key }) => key);
    maker = new RequestMaker(api as unknown as Api, random, apiKeys, payments);
  });
  afterAll(async () => {
    sender.close();
    await service.stop('SIGKILL');
    await world.stop();
  });

  /** Secrets that no answer and no log line may hold. */
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
    // A feature that is off answers 501, where that is described.
    if (status >= 500 && status !== 501) problems.push(`status ${status}`);
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

  const run = (count: number) => sender.run(count, () => maker.next(), problemsOf);

  it('are answered as described, without a 5xx, a secret, a leak or a stall', async () => {
    const inspector = await Inspector.of(service.log());
    await run(SHORT / 2);
    const before = await inspector.usedHeap();
    await inspector.watchLoop();
    const statuses = await run(COUNT);
    const stall = await inspector.longestStall();
    const after = await inspector.usedHeap();
    inspector.close();
    console.log(
      `seed ${TEST_SEED}; answers by status: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}; ` +
        `heap ${(before / 2 ** 20).toFixed(1)} MiB before, ${(after / 2 ** 20).toFixed(1)} MiB after; longest stall ${stall.ownMs.toFixed(0)} ms (${stall.wallMs.toFixed(0)} ms with the waits for a core)`,
    );
    expect(stall.ownMs).toBeLessThan(STALL_ALLOWED_MS);
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
