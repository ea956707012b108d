import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../../sandbox/processes.js';
import { BUILT_MAIN, type Service, startService } from '../../../sandbox/service.js';
import { createApiKey } from '../../../src/operations/access/api-key.js';
import type { Scope } from '../../../src/platform/config/access-settings.js';
import { diagnosisOf } from '../../../src/protocol/diagnosis/diagnosis.js';
import { eventually } from '../../support/http.js';
import { Inspector } from '../../support/inspector.js';
import { type Json } from '../../support/payments.js';
import { askWire, type Question, type Wire } from '../../support/wire.js';
import { World } from '../../support/world.js';

const EMPTY = '{"paymentPayload":{},"paymentRequirements":{}}';
const LIMIT = 3;
const BODY_MAX_BYTES = 2000;
const PATHS = ['', '/v1', '/v2'].flatMap((prefix) => [`${prefix}/verify`, `${prefix}/settle`]);

/** Every answer at the public port has these. */
const COMMON = {
  connection: expect.any(String),
  'content-length': expect.any(String),
  'content-type': 'application/json; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'x-request-id': 'the-same',
};
/** And what a browser asks has these. */
const FOR_BROWSERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': expect.any(String),
};
const KEPT_ALIVE = { 'keep-alive': expect.any(String) };
const REFUSED = {
  401: [
    'unauthorized',
    'An API key is required. Send it in `X-API-Key`; the operator of this service issues keys.',
  ],
  403: ['forbidden', 'This API key does not have the scope `{scope}`.'],
  429: ['rate_limited', 'Too many requests; `Retry-After` says when to ask again.'],
} as const;

/** With the fields that stock clients look for. */
function bodyOf(path: string, status: keyof typeof REFUSED): Json {
  const scope = /verify/i.test(path) ? 'verify' : 'settle';
  const [reason, text] = REFUSED[status];
  const message = text.replace('{scope}', scope);
  const extensions = { diagnosis: diagnosisOf(reason) };
  return scope === 'verify'
    ? { isValid: false, invalidReason: reason, invalidMessage: message, payer: '', extensions }
    : {
        success: false,
        errorReason: reason,
        errorMessage: message,
        transaction: '',
        network: '',
        extensions,
      };
}

/** Verify and settle where there are both API keys and limits. */
describe('verify and settle behind keys and limits', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'x402-guarded-')), 'keys.json');
  const records: unknown[] = [];
  /** Each test has callers of its own: a limit counts by key. */
  const newKey = (...scopes: readonly Scope[]): string => {
    const { key, record } = createApiKey(`caller-${records.length}`, scopes);
    records.push(record);
    return key;
  };
  const known = PATHS.map(() => newKey('verify', 'settle'));
  const [shop, busy, large, lone, plain, seen] = Array.from({ length: 6 }, () =>
    newKey('verify', 'settle'),
  ) as [string, string, string, string, string, string];
  const hubOnly = newKey('hub');
  let world: World;
  let service: Service;

  beforeAll(async () => {
    writeFileSync(file, JSON.stringify({ version: 1, keys: records }));
    world = await World.start();
    const settings = world.settings({
      API_KEYS_FILE: file,
      BODY_MAX_BYTES: String(BODY_MAX_BYTES),
      RATE_LIMIT_VERIFY: String(LIMIT),
      RATE_LIMIT_SETTLE: String(LIMIT),
    });
    // The calls of a package are recognized by its files.
    const options = ['--inspect=127.0.0.1:0'];
    service = await startService(await freePort(), settings, options, BUILT_MAIN);
  });
  afterAll(async () => {
    await service.stop('SIGKILL');
    await world.stop();
  });

  const ask = (path: string, key?: string, more: Partial<Question> = {}): Promise<Wire> => {
    const headers = { ...(key !== undefined && { 'x-api-key': key }), ...more.headers };
    return askWire(service.url, { path, body: EMPTY, ...more, headers });
  };

  /** Asks until the limit is met; by the second, so not always by the same request. */
  async function untilLimited(question: () => Promise<Wire>): Promise<Wire> {
    for (let round = 0; round < 100; round += 1) {
      const answers = await Promise.all(Array.from({ length: 2 * LIMIT }, question));
      const limited = answers.find(({ status }) => status === 429);
      if (limited !== undefined) return limited;
    }
    throw new Error('never limited');
  }

  /** Sends text and no more; resolves with the first of what comes, or with nothing after so long. */
  function raw(text: string, patienceMs = 5000): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => {
        socket.write(text);
      });
      const end = (received: string): void => {
        socket.destroy();
        resolve(received);
      };
      socket.on('error', reject);
      socket.setTimeout(patienceMs, () => {
        end('');
      });
      socket.once('data', (chunk: Buffer) => {
        end(chunk.toString());
      });
    });
  }

  it.each(PATHS)('%s refuses with every header and field there is', async (path) => {
    const unknown = await ask(path);
    expect(unknown.status).toBe(401);
    expect(JSON.parse(unknown.body)).toEqual(bodyOf(path, 401));
    expect(unknown.headers).toEqual({
      ...COMMON,
      ...KEPT_ALIVE,
      'www-authenticate': 'Bearer realm="x402", ApiKey realm="x402"',
    });

    const forbidden = await ask(path, hubOnly);
    expect(forbidden.status).toBe(403);
    expect(JSON.parse(forbidden.body)).toEqual(bodyOf(path, 403));
    expect(forbidden.headers).toEqual({ ...COMMON, ...KEPT_ALIVE });
    const origin = { origin: 'https://shop.example' };
    const question = { path, body: EMPTY, headers: { ...origin, 'x-request-id': 'the-same' } };
    expect((await askWire(service.url, question)).headers).toMatchObject(FOR_BROWSERS);

    const key = known[PATHS.indexOf(path)];
    const counted = await ask(path, key);
    expect(counted.status).toBe(200);
    expect(counted.headers).toMatchObject({ 'ratelimit-limit': String(LIMIT) });

    const limited = await untilLimited(() => ask(path, key));
    expect(JSON.parse(limited.body)).toEqual(bodyOf(path, 429));
    expect(limited.headers).toEqual({
      ...COMMON,
      ...KEPT_ALIVE,
      'ratelimit-limit': String(LIMIT),
      'retry-after': '1',
    });
  });

  it('answer alike however the path is written, and at the port for operators', async () => {
    for (const path of PATHS) {
      for (const key of [undefined, hubOnly, 'x402_wrong']) {
        const expected = await ask(path, key);
        for (const other of [`${path}?a=b`, `${path}/`, path.toUpperCase()]) {
          expect({ other, ...(await ask(other, key)) }).toEqual({ other, ...expected });
        }
        const headers = key === undefined ? {} : { 'x-api-key': key };
        const question = { path, body: EMPTY, headers };
        const operators = await askWire(service.opsUrl, question);
        expect(operators.status).toBe(expected.status);
        expect(operators.body).toBe(expected.body);
        expect(operators.headers['www-authenticate']).toBe(expected.headers['www-authenticate']);
        expect(operators.headers['access-control-allow-origin']).toBeUndefined();
      }
    }
  });

  it('count one caller together, however the path is written and whatever the version', async () => {
    const begun = performance.now();
    const spellings = ['/verify', '/v1/verify', '/v2/verify', '/verify?a=b', '/verify/', '/VERIFY'];
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, number) => ask(spellings[number % 6] ?? '', busy)),
    );
    const seconds = (performance.now() - begun) / 1000;
    const admitted = answers.filter(({ status }) => status === 200).length;
    expect(admitted).toBeGreaterThanOrEqual(LIMIT);
    expect(admitted).toBeLessThanOrEqual(LIMIT + Math.ceil(seconds * LIMIT));
    // Settles are counted apart.
    expect((await ask('/settle', busy)).status).toBe(200);
  });

  it.each(['Content-Length: 100', 'Content-Length: 999999999', 'Transfer-Encoding: chunked'])(
    'refuse before a byte of the body has come: %s',
    async (length) => {
      for (const path of PATHS) {
        const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${length}\r\n`;
        expect(await raw(`${head}\r\n`)).toMatch(/^HTTP\/1\.1 401 /);
        expect(await raw(`${head}X-API-Key: ${hubOnly}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 403 /);
      }
      const head = `POST /settle HTTP/1.1\r\nHost: x\r\nX-API-Key: ${lone}\r\n${length}\r\n`;
      await eventually('refused by the limit', async () => {
        await untilLimited(() => ask('/settle', lone));
        // One that was let in after all waits for its body.
        return (await raw(`${head}\r\n`, 1000)).startsWith('HTTP/1.1 429 ');
      });
    },
  );

  it('say what is wrong with a body only to who may send one', async () => {
    const wrong: readonly (readonly [number, Partial<Question>])[] = [
      [413, { body: 'x'.repeat(BODY_MAX_BYTES + 1) }],
      [413, { body: 'x'.repeat(9000), headers: { 'transfer-encoding': 'chunked' } }],
      [400, { body: '{' }],
      [400, { body: '' }],
      [415, { body: EMPTY, headers: { 'content-encoding': 'zz' } }],
    ];
    for (const [status, question] of wrong) {
      expect((await ask('/v2/verify', undefined, question)).status).toBe(401);
      expect((await ask('/v2/verify', hubOnly, question)).status).toBe(403);
      let answer = await ask('/v2/verify', large, question);
      while (answer.status === 429) answer = await ask('/v2/verify', large, question);
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.body)).toMatchObject({ isValid: false });
    }
    const chunked = { headers: { 'transfer-encoding': 'chunked' } };
    expect((await ask('/v2/settle', large, chunked)).status).toBe(200);
  });

  it('take the key from either header, and only a whole one', async () => {
    const bearer = (authorization: string): Promise<Wire> =>
      ask('/settle', undefined, { headers: { authorization } });
    expect((await bearer(`bearer  ${plain}`)).status).toBe(200);
    expect((await bearer(plain)).status).toBe(401);
    expect((await bearer(`Bearer ${plain} more`)).status).toBe(401);
    expect((await ask('/settle', '', { headers: { authorization: plain } })).status).toBe(401);
    const both = { headers: { authorization: `Bearer ${plain}` } };
    expect((await ask('/settle', 'x402_wrong', both)).status).toBe(401);
  });

  it('know no other methods, and ask GET and HEAD of verify for a key', async () => {
    for (const path of PATHS) {
      for (const method of ['PUT', 'DELETE', 'PATCH']) {
        const answer = await askWire(service.url, { method, path });
        expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, POST, OPTIONS']);
      }
      for (const method of ['GET', 'HEAD']) {
        const { status } = await askWire(service.url, { method, path });
        // A look-up is public, and counted by address.
        expect(path.endsWith('verify') ? [401] : [200, 429]).toContain(status);
      }
      const preflight = await askWire(service.url, { method: 'OPTIONS', path });
      expect(preflight.status).toBe(204);
    }
  });

  it('show in the metrics by route, refused or not', async () => {
    const series = (status: number): RegExp =>
      new RegExp(
        `^x402_http_responses_total\\{route="/v1/settle",status="${status}"\\} ([1-9]\\d*)$`,
        'm',
      );
    await ask('/v1/settle', seen);
    const text = await (await fetch(`${service.opsUrl}/metrics`)).text();
    for (const status of [200, 401, 403, 429]) expect(text).toMatch(series(status));
    expect(text).not.toMatch(/route="[^"]*(SETTLE|settle\/|\?)/);
  });

  it('are answered before the framework, also what is refused', async () => {
    const inspector = await Inspector.of(service.log());
    const framework = /\/node_modules\/(router|express|@nestjs\/core)\//;
    const callsOfFramework = async (): Promise<number> =>
      (await inspector.takeCalls()).filter(({ url }) => framework.test(url)).length;
    const callsFor = async (path: string): Promise<number> => {
      // The framework goes on for a moment after its answer to the question before has come.
      await eventually('a quiet framework', async () => (await callsOfFramework()) === 0);
      for (const key of [undefined, hubOnly, shop]) await ask(path, key);
      return callsOfFramework();
    };
    await inspector.countCalls();
    // That the framework would be seen.
    expect(await callsFor('/verify?a=b')).toBeGreaterThan(0);
    expect(await callsFor('/verify')).toBe(0);
    expect(await callsFor('/v2/settle')).toBe(0);
    inspector.close();
  });
});
