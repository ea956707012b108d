import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Service } from '../../sandbox/service.js';
import { type Answer, post } from '../support/http.js';
import { type Body, eip3009Body, type Json, newAccount, permit2Body } from '../support/payments.js';
import { World } from '../support/world.js';

const PATHS = ['/verify', '/settle', '/v1/verify', '/v1/settle', '/v2/verify', '/v2/settle'];

describe('bad input', () => {
  let world: World;
  let service: Service;
  let redis: Redis;
  let good: Body;
  let goodPermit2: Body;

  beforeAll(async () => {
    world = await World.start();
    service = await world.service({ BODY_MAX_BYTES: '1048576' });
    redis = new Redis(world.redis.url);
    const payer = newAccount();
    const payTo = newAccount().address;
    good = await eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo });
    goodPermit2 = await permit2Body({ payer, chainId: world.chainId, token: world.coin, payTo });
  });
  afterAll(async () => {
    const left = await redis.keys('x402:{*}:s:*');
    const jobs = (await redis.keys('bull:settle-*')).filter((key) => /:[\w-]{43}$/.test(key));
    const log = service.log();
    redis.disconnect();
    await world.stop();
    // None of all this became a settlement or a job, and nothing broke on the way.
    expect([left, jobs]).toEqual([[], []]);
    expect(log).not.toMatch(/"level":50| {4}at |unexpected/);
  });

  /** 4xx with the fields stock clients look for, and nothing of our insides. */
  function expectRefused(path: string, answer: Answer, status: number): void {
    expect(answer.status).toBe(status);
    const text = JSON.stringify(answer.body);
    expect(text).not.toMatch(/stack|node_modules|at .*\.js/);
    expect(answer.body).toMatchObject(
      path.endsWith('verify')
        ? { isValid: false }
        : { success: false, transaction: '', network: '' },
    );
  }

  const notEnvelopes: readonly [string, unknown][] = [
    ['an empty body', ''],
    ['not JSON', '{"paymentPayload":'],
    ['plain text', 'pay me'],
    ['an array', []],
    ['an array of payments', [{}]],
    ['null', 'null'],
    ['a number', '5'],
    ['a string', '"x"'],
    ['true', 'true'],
    ['an empty object', {}],
    ['only a payload', { paymentPayload: {} }],
    ['only requirements', { paymentRequirements: {} }],
    ['a payload that is a list', { paymentPayload: [], paymentRequirements: {} }],
    ['a payload that is text', { paymentPayload: 'x', paymentRequirements: {} }],
    ['requirements that are null', { paymentPayload: {}, paymentRequirements: null }],
    ['invalid UTF-8', Buffer.from([0xff, 0xfe, 0x7b]).toString('latin1')],
    ['a body nested 20 000 deep', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
  ];

  describe.each(PATHS)('POST %s', (path) => {
    it.each(notEnvelopes)('refuses %s with 400', async (_, body) => {
      expectRefused(path, await post(service.url + path, body), 400);
    });

    it('refuses 2 MB with 413', async () => {
      const body = JSON.stringify({ paymentPayload: { note: 'x'.repeat(2_000_000) } });
      expectRefused(path, await post(service.url + path, body), 413);
    });

    it.each(['PUT', 'DELETE', 'PATCH'])('refuses %s with 405', async (method) => {
      const response = await fetch(service.url + path, { method });
      const body = (await response.json()) as Json;
      expectRefused(path, { status: response.status, body, headers: response.headers }, 405);
      expect(response.headers.get('allow')).toBe('GET, POST, OPTIONS');
    });

    it('refuses an unknown content encoding with 415', async () => {
      const answer = await post(service.url + path, '{}', { 'content-encoding': 'zstd-x' });
      expectRefused(path, answer, 415);
    });

    it('answers an empty envelope as data', async () => {
      const answer = await post(service.url + path, {
        paymentPayload: {},
        paymentRequirements: {},
      });
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject(
        path.endsWith('verify')
          ? { isValid: false, invalidReason: 'invalid_x402_version' }
          : { success: false, errorReason: 'invalid_x402_version', transaction: '', network: '' },
      );
    });
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'nonsense'])(
    'reads JSON that calls itself %s',
    async (type) => {
      const answer = await post(`${service.url}/verify`, good, { 'content-type': type });
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({
        isValid: false,
        invalidReason: 'invalid_exact_evm_insufficient_balance',
      });
    },
  );

  const WRONG: readonly unknown[] = [
    null,
    true,
    0,
    -1,
    1.5,
    Number.MAX_VALUE,
    '',
    ' ',
    '0x',
    '-5',
    'x'.repeat(10_000),
    '9'.repeat(5000),
    [],
    {},
    [[]],
    { __proto__: null, toString: 5 },
    '\u0000',
    '💥',
  ];

  /** Every path to a leaf or an object inside a body. */
  function pathsIn(value: unknown, prefix: readonly string[] = []): (readonly string[])[] {
    if (typeof value !== 'object' || value === null) return [prefix];
    const inner = Object.entries(value).flatMap(([key, part]) => pathsIn(part, [...prefix, key]));
    return prefix.length === 0 ? inner : [prefix, ...inner];
  }

  function withChange(body: Body, path: readonly string[], value: unknown): Body {
    const copy = structuredClone(body) as unknown as Json;
    let at = copy;
    for (const key of path.slice(0, -1)) at = at[key] as Json;
    const last = path.at(-1) ?? '';
    if (value === undefined) Reflect.deleteProperty(at, last);
    else at[last] = value;
    return copy as unknown as Body;
  }

  it('answers wrong types in every field as data, and never settles them', async () => {
    const bodies: Body[] = [];
    for (const body of [good, goodPermit2]) {
      for (const path of pathsIn(body)) {
        for (const value of [undefined, ...WRONG]) bodies.push(withChange(body, path, value));
      }
    }
    for (const body of bodies) {
      for (const path of ['/verify', '/settle']) {
        const { status, body: answer } = await post(service.url + path, body);
        const isEnvelope = isObject(body.paymentPayload) && isObject(body.paymentRequirements);
        expect(status).toBe(isEnvelope ? 200 : 400);
        if (path === '/settle') {
          expect(answer).toMatchObject({ success: false, transaction: '' });
          expect(typeof answer['network']).toBe('string');
        } else {
          expect(answer).toMatchObject({ isValid: false });
        }
        expect(answer['invalidReason'] ?? answer['errorReason']).not.toMatch(/unexpected/);
      }
    }
    expect(bodies.length).toBeGreaterThan(800);
  });

  const isObject = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && !Array.isArray(value);

  it('takes keys like __proto__ for what they are', async () => {
    const text = JSON.stringify(good).replace(
      '"paymentPayload":{',
      '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"paymentPayload":{"__proto__":{"x402Version":1},',
    );
    const answer = await post(`${service.url}/verify`, text);
    expect(answer.body).toMatchObject({
      invalidReason: 'invalid_exact_evm_insufficient_balance',
    });
  });

  it.each([
    [50, 200, { invalidReason: 'invalid_exact_evm_insufficient_balance' }],
    // JSON of this depth keeps the parser busy for longer than any check.
    [20_000, 400, { isValid: false }],
  ])('with %d levels where it does not look is answered with %d', async (levels, status, said) => {
    const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    const text = JSON.stringify(good).replace('"resource":{', `"resource":{"deep":${deep},`);
    const answer = await post(`${service.url}/verify`, text);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject(said);
  });

  it('does not repeat a network that is longer than any name', async () => {
    const body = withChange(good, ['paymentPayload', 'accepted', 'network'], 'n'.repeat(5000));
    body.paymentRequirements['network'] = 'm'.repeat(5000);
    const answer = await post(`${service.url}/settle`, body);
    expect(answer.body).toMatchObject({ errorReason: 'invalid_network', network: '' });
  });

  it.each([
    ['a missing part', '?paymentPayload=e30'],
    ['not base64url of JSON', '?paymentPayload=%00&paymentRequirements=zz'],
    ['lists', '?paymentPayload=W10&paymentRequirements=W10'],
    ['repeated parts', '?paymentPayload=e30&paymentPayload=e30&paymentRequirements=e30'],
  ])('refuses a GET with %s', async (_, query) => {
    for (const path of PATHS) {
      const response = await fetch(service.url + path + query);
      const body = (await response.json()) as Json;
      expectRefused(path, { status: response.status, body, headers: response.headers }, 400);
    }
  });

  it('never logs a query', async () => {
    const secret = Buffer.from(JSON.stringify(good.paymentPayload)).toString('base64url');
    await fetch(`${service.url}/verify?paymentPayload=${secret}&paymentRequirements=e30`);
    await fetch(`${service.url}/settle?paymentPayload=${secret}&paymentRequirements=e30`);
    expect(service.log()).not.toContain(secret.slice(0, 40));
  });

  it('survives a connection that ends in the middle of a body', async () => {
    const { port } = new URL(service.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      'POST /settle HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"paym',
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    expect((await fetch(`${service.url}/health/live`)).status).toBe(200);
  });

  it('answers whatever `If-None-Match` says, where an answer has no ETag', async () => {
    // Not by fetch(), which asks for a fresh answer then.
    const { statusCode } = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { 'If-None-Match': '*' };
      get(`${service.url}/v2/supported`, { headers, agent: false }, resolve).on('error', reject);
    });
    expect(statusCode).toBe(200);
  });

  it('answers 404 in JSON for what is not there', async () => {
    const response = await fetch(`${service.url}/nothing/here`);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: 'This service has no such path. GET /openapi.json lists all paths.',
      code: 'no_such_path',
    });
  });
});
