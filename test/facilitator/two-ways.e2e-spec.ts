import { type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Service } from '../../sandbox/service.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

interface Wire {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Question {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** What differs from one request to the next, and what the guard adds. */
const PASSING = ['date', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];

/**
 * Requests to the letter of what is asked most are answered before the framework; a limit (or API
 * keys) makes all of them go through it. Nobody should be able to tell.
 */
describe('an answer with the framework and without it', () => {
  let world: World;
  let direct: Service;
  let framed: Service;
  let payment: string;

  beforeAll(async () => {
    world = await World.start();
    const limits = { RATE_LIMIT_VERIFY: '100000', RATE_LIMIT_SETTLE: '100000' };
    [direct, framed] = await Promise.all([world.service(), world.service(limits)]);
    payment = await aPayment();
  });
  afterAll(() => world.stop());

  async function aPayment(): Promise<string> {
    const body = await eip3009Body({
      payer: await world.payer(),
      chainId: world.chainId,
      token: world.usd,
      payTo: newAccount().address,
    });
    return JSON.stringify(body);
  }

  function ask(
    { url }: Service,
    { method = 'POST', path, headers, body }: Question,
  ): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest(
        `${url}${path}`,
        { method, headers: { 'x-request-id': 'the-same', ...headers } },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const kept = Object.entries(response.headers).filter(
              ([name]) => !PASSING.includes(name),
            );
            resolve({
              status: response.statusCode,
              headers: Object.fromEntries(kept),
              body: Buffer.concat(chunks).toString(),
            });
          });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  const json = { 'content-type': 'application/json' };
  const questions = (): readonly (readonly [string, Question])[] => [
    ['a good payment', { path: '/verify', headers: json, body: payment }],
    ['a good payment at /v2', { path: '/v2/verify', headers: json, body: payment }],
    ['the other version', { path: '/v1/verify', headers: json, body: payment }],
    ['a query behind the path', { path: '/verify?x=1', headers: json, body: payment }],
    ['a slash behind the path', { path: '/verify/', headers: json, body: payment }],
    ['a path in capitals', { path: '/VERIFY', headers: json, body: payment }],
    ['no content type', { path: '/verify', body: payment }],
    [
      'another content type',
      { path: '/verify', headers: { 'content-type': 'x/y' }, body: payment },
    ],
    [
      'a compressed body',
      {
        path: '/verify',
        headers: { ...json, 'content-encoding': 'gzip' },
        body: gzipSync(payment),
      },
    ],
    [
      'an unknown encoding',
      { path: '/verify', headers: { ...json, 'content-encoding': 'zz' }, body: payment },
    ],
    ['chunks', { path: '/verify', headers: { 'transfer-encoding': 'chunked' }, body: payment }],
    ['no body', { path: '/verify' }],
    ['half a body', { path: '/verify', headers: json, body: payment.slice(0, 200) }],
    ['no JSON', { path: '/settle', headers: json, body: 'hello' }],
    ['no envelope', { path: '/settle', headers: json, body: '[]' }],
    ['too much', { path: '/verify', headers: json, body: 'x'.repeat(2_000_000) }],
    ['bad UTF-8', { path: '/verify', headers: json, body: Buffer.from([0x7b, 0xff, 0x7d]) }],
    ['a preflight', { method: 'OPTIONS', path: '/verify', headers: { origin: 'http://a.test' } }],
    ['another method', { method: 'PUT', path: '/verify', body: payment }],
    ['HEAD', { method: 'HEAD', path: '/verify' }],
    ['GET', { method: 'GET', path: '/verify' }],
    [
      'terms of the settle',
      { path: '/v2/settle', headers: { 'settle-finality': 'x' }, body: '{}' },
    ],
  ];

  it('is the same', async () => {
    for (const [name, question] of questions()) {
      const [one, other] = [await ask(direct, question), await ask(framed, question)];
      expect({ name, ...one }).toEqual({ name, ...other });
    }
  });

  it('has the same shape for settles', async () => {
    const shapeOf = async (service: Service, prefer: string): Promise<unknown> => {
      const question = {
        path: '/settle',
        headers: { ...json, prefer },
        body: await aPayment(),
      };
      const { status, headers, body } = await ask(service, question);
      return {
        status,
        headers: Object.keys(headers).sort(),
        fields: Object.keys(JSON.parse(body) as object).sort(),
      };
    };
    for (const prefer of ['', 'respond-async']) {
      const [one, other] = [await shapeOf(direct, prefer), await shapeOf(framed, prefer)];
      expect(one).toMatchObject({ status: prefer === '' ? 200 : 202 });
      expect(other).toEqual(one);
    }
  });
});
