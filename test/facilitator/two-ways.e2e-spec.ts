import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { askWire, type Question, type Wire } from '../support/wire.js';
import { World } from '../support/world.js';

const LIMITS = { RATE_LIMIT_VERIFY: '100000', RATE_LIMIT_SETTLE: '100000' };

/**
 * A path as it is listed is answered before the framework, one with a query behind it by the framework.
 * The answers must not differ, with API keys and limits or without them.
 */
describe.each(['open', 'with keys and limits'])('a service that is %s', (kind) => {
  const { key, record } = createApiKey('shop', ['verify', 'settle']);
  const isOpen = kind === 'open';
  let world: World;
  let service: Service;
  let payment: string;

  beforeAll(async () => {
    world = await World.start();
    const file = join(mkdtempSync(join(tmpdir(), 'x402-two-ways-')), 'keys.json');
    writeFileSync(file, JSON.stringify({ version: 1, keys: [record] }));
    service = await world.service(isOpen ? {} : { API_KEYS_FILE: file, ...LIMITS });
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

  function ask(question: Question): Promise<Wire> {
    const headers = { ...question.headers, ...(!isOpen && { 'x-api-key': key }) };
    return askWire(service.url, { ...question, headers });
  }

  const throughFramework = (question: Question): Promise<Wire> =>
    ask({ ...question, path: `${question.path}?a=b` });

  const json = { 'content-type': 'application/json' };
  const questions = (): readonly (readonly [string, Question])[] => [
    ['a good payment', { path: '/verify', headers: json, body: payment }],
    ['a good payment at /v2', { path: '/v2/verify', headers: json, body: payment }],
    ['the other version', { path: '/v1/verify', headers: json, body: payment }],
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
    [
      'terms of the settle',
      { path: '/v2/settle', headers: { 'settle-finality': 'x' }, body: '{}' },
    ],
  ];

  it('answers the same both ways', async () => {
    for (const [name, question] of questions()) {
      const [one, other] = [await ask(question), await throughFramework(question)];
      expect({ name, ...one }).toEqual({ name, ...other });
    }
  });

  it('answers settles in the same shape both ways', async () => {
    const shapeOf = async (send: typeof ask, prefer: string): Promise<unknown> => {
      const question = {
        path: '/settle',
        headers: { ...json, prefer },
        body: await aPayment(),
      };
      const { status, headers, body } = await send(question);
      return {
        status,
        headers: Object.keys(headers).sort(),
        fields: Object.keys(JSON.parse(body) as object).sort(),
      };
    };
    for (const prefer of ['', 'respond-async']) {
      const [one, other] = [await shapeOf(ask, prefer), await shapeOf(throughFramework, prefer)];
      expect(one).toMatchObject({ status: prefer === '' ? 200 : 202 });
      expect(other).toEqual(one);
    }
  });
});
