import { spawn } from 'node:child_process';
import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { demoSeller, listen } from '../../sandbox/seller.js';
import type { Service } from '../../sandbox/service.js';
import { ApiDescription } from '../support/api-description.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import type { Json } from '../support/payments.js';
import { newAccount } from '../support/payments.js';
import { residentBytes } from '../support/resident.js';
import { World } from '../support/world.js';
import {
  acceptOf,
  hostileSellers,
  plantedFaults,
  type RunningSellers,
  type SellerWorld,
  startSellers,
} from './doctor-sellers.js';

interface Finding {
  readonly code: string;
  readonly severity: string;
  readonly got?: string;
}

const SOUND = ['report', 'premium', 'permit2', 'sponsored', 'upto'];

describe('the check of sellers', () => {
  let world: World;
  let service: Service;
  let stock: Server;
  let stockUrl: string;
  let faults: RunningSellers;
  let hostile: RunningSellers;
  let tripwire: RunningSellers;
  let sellers: SellerWorld;
  let api: ApiDescription;

  beforeAll(async () => {
    // A chain that has a name in version 1.
    world = await World.start({ blockTime: 0.3, chainId: 97 });
    const { usd, coin } = world;
    sellers = { network: 'eip155:97', usd, coin, payTo: newAccount().address };
    tripwire = await startSellers({ '': (_request, response) => response.end('secret') });
    faults = await startSellers({
      ...plantedFaults(sellers),
      v1: (_request, response) => {
        const { amount, ...accept } = acceptOf(sellers, { network: 'bsc-testnet' });
        const more = { maxAmountRequired: amount, resource: 'https://x.example', description: '' };
        response
          .writeHead(402)
          .end(JSON.stringify({ x402Version: 1, error: '', accepts: [{ ...accept, ...more }] }));
      },
    });
    hostile = await startSellers(hostileSellers(sellers, `${tripwire.url}/`));
    const stockPort = await freePort();
    service = await world.service({
      DOCTOR: 'true',
      DOCTOR_ALLOW: [faults.host, hostile.host, `127.0.0.1:${stockPort}`].join(','),
      RATE_LIMIT_DOCTOR: '1000',
    });
    const facilitatorUrl = service.url;
    const { payTo } = sellers;
    const app = demoSeller({ facilitatorUrl, network: 'eip155:97', payTo, usd, coin });
    stock = await listen(app, stockPort);
    stockUrl = `http://127.0.0.1:${stockPort}`;
    api = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
  });
  afterAll(async () => {
    stock.close();
    for (const one of [faults, hostile, tripwire]) one.close();
    await world.stop();
  });

  async function examine(url: string, more: object = {}): Promise<Json> {
    const answer = await post(`${service.url}/v2/doctor`, { url, ...more });
    expect(answer.status).toBe(200);
    expect(api.problemsOf('post', '/v2/doctor', 200, answer.body)).toEqual([]);
    return answer.body;
  }

  const findingsOf = (report: Json): readonly Finding[] => report['findings'] as Finding[];
  const faultsIn = (report: Json): string[] =>
    findingsOf(report)
      .filter(({ severity }) => severity !== 'note')
      .map(({ code }) => code);

  it.each(SOUND)('finds nothing wrong with the stock middleware: /%s', async (resource) => {
    const report = await examine(`${stockUrl}/${resource}`);
    expect(faultsIn(report)).toEqual([]);
    expect(report).toMatchObject({ status: 402, isSound: true });
    expect(report['offers']).toMatchObject([{ network: 'eip155:97', version: 2 }]);
    const notes = findingsOf(report).map(({ code }) => code);
    expect(notes).toEqual(['buyers_allow_the_asset', 'no_browsers']);
  });

  it('finds nothing wrong with a seller of version 1', async () => {
    const report = await examine(`${faults.url}/v1`);
    expect(faultsIn(report)).toEqual([]);
    expect(report['offers']).toMatchObject([{ version: 1, price: '0.1 SUSD' }]);
  });

  const NOWHERE = { network: '', usd: '0x', coin: '0x', payTo: '0x' } as const;
  const planted = Object.keys(plantedFaults(NOWHERE));

  it('has at least 15 planted faults', () => {
    expect(planted.length).toBeGreaterThanOrEqual(15);
  });

  it.each(planted)('finds what is planted, and nothing else: %s', async (fault) => {
    const isPost = fault === 'validates_before_payment';
    const report = await examine(
      `${faults.url}/${fault}`,
      isPost ? { method: 'post', body: { city: 'Berlin' } } : {},
    );
    const found = faultsIn(report);
    if (fault === 'both_gas_sponsorings') {
      // Which sponsorings this deployment acts on is another question.
      expect(found.filter((code) => code !== 'extension_not_served')).toEqual([fault]);
    } else expect(found).toEqual([fault]);
    expect(report['isSound']).toBe(false);
  });

  it('asks with the body and without it', () => {
    const path = 'POST /validates_before_payment';
    expect(faults.asked.filter((one) => one === path)).toHaveLength(2);
  });

  it.each([
    'http://127.0.0.1/',
    'http://localhost/',
    'http://[::1]/',
    'http://[::ffff:7f00:1]/',
    'http://2130706433/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://100.100.100.200/',
    'http://metadata.google.internal./',
    'file:///etc/passwd',
    'gopher://127.0.0.1:6379/_FLUSHALL',
    'http://user:pass@127.0.0.1/',
    'not a url',
  ])('asks nobody at %s', async (url) => {
    const report = await examine(url);
    expect(report).not.toHaveProperty('status');
    const [finding] = findingsOf(report);
    // A name that does not resolve here is not there.
    const codes = url.includes('internal')
      ? ['url_refused', 'seller_unreachable']
      : ['url_refused'];
    expect(codes).toContain(finding?.code);
    if (finding?.code === 'url_refused') expect(finding.got).toBe(JSON.stringify(url));
    expect(JSON.stringify(report)).not.toMatch(/ECONN|ENOTFOUND|EAI_AGAIN/);
  });

  it('asks neither this service nor its Redis, by number or by name', async () => {
    const { port } = world.redis;
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '0.0.0.0', '127.1']) {
      for (const target of [new URL(service.url).port, String(port), new URL(tripwire.url).port]) {
        const report = await examine(`http://${host}:${target}/`, { method: 'POST', body: '{}' });
        expect(findingsOf(report)[0]?.code).toBe('url_refused');
      }
    }
    expect(tripwire.asked).toEqual([]);
  });

  it.each(['to-loopback', 'to-name', 'to-metadata', 'to-ipv6', 'to-file', 'round-and-round'])(
    'follows no redirect to where it may not go: %s',
    async (path) => {
      const report = await examine(`${hostile.url}/${path}`);
      expect(findingsOf(report).map(({ code }) => code)).toEqual(['url_refused']);
      expect(tripwire.asked).toEqual([]);
    },
  );

  it.each([
    ['huge', 'no_terms'],
    ['bomb', 'compressed_unasked'],
    ['cut-off', 'seller_unreachable'],
    ['nested', 'header_not_json'],
    ['long-header', 'header_too_long'],
  ])('bounds what it reads: %s', async (path, code) => {
    const report = await examine(`${hostile.url}/${path}`);
    expect(faultsIn(report)).toEqual([code]);
  });

  it('makes nothing larger of an answer than it came: ten gigabytes in ten megabytes', async () => {
    const before = residentBytes(service.child);
    let most = before;
    const timer = setInterval(() => (most = Math.max(most, residentBytes(service.child))), 10);
    const begun = performance.now();
    for (let times = 0; times < 4; times += 1) {
      const [finding] = findingsOf(await examine(`${hostile.url}/bomb`));
      expect(finding).toMatchObject({
        code: 'compressed_unasked',
        path: 'header.Content-Encoding',
        got: '"gzip"',
        fix: 'Compress only what Accept-Encoding names.',
      });
    }
    clearInterval(timer);
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(most - before).toBeLessThan(100 * 1024 * 1024);
  });

  it('looks at eight offers of ten', async () => {
    const report = await examine(`${hostile.url}/many-offers`);
    expect(report['offers']).toHaveLength(8);
    expect(faultsIn(report)).toEqual([]);
  });

  it('shows what a seller says as short and plain text', async () => {
    const report = await examine(`${hostile.url}/odd-text`);
    const shown = findingsOf(report).flatMap(({ got }) => got ?? []);
    expect(shown.length).toBeGreaterThan(5);
    for (const text of shown) expect(text).toMatch(/^[\x20-\x7e]{0,120}$/);
  });

  it('waits for nobody longer than twelve seconds, and asks two at once', async () => {
    const begun = performance.now();
    const slow = ['slow', 'silent'].map((path) => examine(`${hostile.url}/${path}`));
    // Two are under way and four may wait; the others are refused at once.
    await eventually('both are asked', () =>
      ['/slow', '/silent'].every((path) => hostile.asked.includes(`GET ${path}`)),
    );
    const more = Array.from({ length: 8 }, () =>
      post(`${service.url}/v2/doctor`, { url: `${stockUrl}/report` }),
    );
    const statuses = (await Promise.all(more)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
    const reports = await Promise.all(slow);
    expect(reports.flatMap(faultsIn)).toEqual(['seller_unreachable', 'seller_unreachable']);
    expect(performance.now() - begun).toBeLessThan(30_000);
  });

  it.each<[string, unknown]>([
    ['nothing', {}],
    ['a list', []],
    ['a number for a URL', { url: 5 }],
    ['another method', { url: 'https://x.example', method: 'TRACE' }],
    ['a body to GET', { url: 'https://x.example', body: {} }],
    ['headers', { url: 'https://x.example', headers: { host: 'other' } }],
    ['a long URL', { url: `https://x.example/${'a'.repeat(3000)}` }],
    ['a long body', { url: 'https://x.example', method: 'POST', body: 'x'.repeat(20_000) }],
    ['no JSON', '{'],
  ])('refuses a request with %s', async (_, body) => {
    const answer = await post(`${service.url}/v2/doctor`, body);
    expect(answer.status).toBe(400);
    expect(api.problemsOf('post', '/v2/doctor', 400, answer.body)).toEqual([]);
  });

  it('leaves no trace in the ledger', async () => {
    const redis = new Redis(world.redis.url);
    const keys = async (): Promise<readonly string[]> =>
      (await redis.keys('*')).filter((key) => !key.startsWith('x402:rl:')).sort();
    const before = await keys();
    for (const path of SOUND) await examine(`${stockUrl}/${path}`);
    expect(before.length).toBeGreaterThan(0);
    expect(await keys()).toEqual(before);
    redis.disconnect();
  });

  it('has a page that loads nothing from elsewhere', async () => {
    const page = await fetch(`${service.url}/doctor`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await page.text();
    expect(html).not.toMatch(/<script>|<style>|onclick=|https?:\/\/(?!seller\.example)/);
    const script = await fetch(`${service.url}/pages/doctor.js`);
    expect(script.headers.get('content-type')).toContain('javascript');
    expect(await script.text()).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write/);
  });

  it.each([
    ['permit2', 0, 'Ready to be paid: a stock buyer can pay.'],
    ['nothing-here', 1, 'not_found'],
    ['nothing-here', 1, 'Not ready to be paid: 1 error, 0 warnings.'],
  ])('is there on the command line: /%s', async (path, code, said) => {
    const ended = await doctorCommand(service.url, `${stockUrl}/${path}`);
    expect(ended.output).toContain(said);
    expect(ended.code).toBe(code);
  });

  it('knows the tokens of this deployment', async () => {
    const { usd, coin } = sellers;
    const assets = async (): Promise<Answer> => get(`${service.url}/v2/assets?network=eip155:97`);
    const of = (body: Json, token: string): Json | undefined =>
      (body['assets'] as Json[]).find(
        ({ asset }) => String(asset).toLowerCase() === token.toLowerCase(),
      );
    await eventually('the tokens are read', async () => {
      const { body } = await assets();
      return [usd, coin].every((token) => of(body, token)?.['source'] === 'chain');
    });
    const answer = await assets();
    expect(api.problemsOf('get', '/v2/assets', 200, answer.body)).toEqual([]);
    expect(of(answer.body, usd)).toMatchObject({
      symbol: 'SUSD',
      decimals: 18,
      methods: ['eip3009', 'permit2'],
      eip2612: 'yes',
      eip3009: { vrs: 'yes', bytes: 'yes' },
      extra: { name: 'Sandbox USD', version: '1' },
    });
    expect(of(answer.body, coin)).toMatchObject({
      symbol: 'SCOIN',
      methods: ['permit2'],
      eip2612: 'no',
      eip3009: { vrs: 'no', bytes: 'no' },
      extra: { assetTransferMethod: 'permit2' },
    });
    expect((await get(`${service.url}/v2/assets?network=bsc`)).status).toBe(400);
    expect((await get(`${service.url}/v2/assets?network=eip155:1`)).body).toEqual({ assets: [] });
  });

  describe('where it is not turned on, or has been used enough', () => {
    it('is not there', async () => {
      const plain = await world.service({ ROLES: 'api' });
      expect((await post(`${plain.url}/v2/doctor`, { url: stockUrl })).status).toBe(404);
      expect((await fetch(`${plain.url}/doctor`)).status).toBe(404);
      const { body } = await get(`${plain.url}/openapi.json`);
      expect(Object.keys(body['paths'] as Json)).not.toContain('/v2/doctor');
    });

    it('is counted by itself', async () => {
      const few = await world.service({ ROLES: 'api', DOCTOR: 'true', RATE_LIMIT_DOCTOR: '2' });
      const ask = (): Promise<Answer> =>
        post(`${few.url}/v2/doctor`, { url: `${stockUrl}/report` });
      // Nothing of this machine is allowed here.
      expect(findingsOf((await ask()).body)[0]?.code).toBe('url_refused');
      expect((await ask()).status).toBe(200);
      const third = await ask();
      expect(third.status).toBe(429);
      expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(third.body).toMatchObject({ code: 'rate_limited' });
    });
  });
});

function doctorCommand(
  facilitator: string,
  url: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--import', 'tsx', 'sandbox/doctor.ts', url], {
      env: { PATH: process.env['PATH'] ?? '', FACILITATOR_URL: facilitator },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece: Buffer) => {
        output += piece.toString();
      });
    }
    child.on('exit', (code) => {
      resolve({ code, output });
    });
  });
}
