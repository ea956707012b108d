import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Service } from '../../sandbox/service.js';
import { ApiDescription } from '../support/api-description.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { eip3009Body, newAccount, nowSeconds, v1Body } from '../support/payments.js';
import { World } from '../support/world.js';

/** Names of all fields, to the leaves: two answers with the same are the same to a client. */
function shapeOf(value: unknown, prefix = ''): string[] {
  if (Array.isArray(value)) {
    return [...new Set(value.flatMap((item) => shapeOf(item, `${prefix}[]`)))].sort();
  }
  if (typeof value !== 'object' || value === null) return [`${prefix}: ${typeof value}`];
  return Object.entries(value)
    .flatMap(([name, part]) => shapeOf(part, `${prefix}.${name}`))
    .sort();
}

describe('/openapi.json', () => {
  let world: World;
  let service: Service;
  let api: ApiDescription;

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.3, chainId: 97 });
    service = await world.service();
    api = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
  });
  afterAll(() => world.stop());

  /** The answer is one the description allows, and has the fields of its example. */
  function expectDescribed(method: string, path: string, answer: Answer): void {
    expect(api.problemsOf(method, path, answer.status, answer.body)).toEqual([]);
    const example = api.exampleOf(method, path, answer.status);
    if (example !== undefined) expect(shapeOf(answer.body)).toEqual(shapeOf(example));
  }

  const payment = async (more: object = {}): ReturnType<typeof eip3009Body> =>
    eip3009Body({
      payer: await world.payer(),
      chainId: world.chainId,
      token: world.usd,
      payTo: newAccount().address,
      ...more,
    });

  it('lets the transaction be missing of a refund by another sender alone, whose amount is not known', () => {
    const { address: payer } = newAccount();
    const extra = { settlementId: 'A'.repeat(43), channelState: {} };
    const success = { success: true, payer, network: 'eip155:97', transaction: '', extra };
    const problems = (body: object) => api.problemsOf('post', '/settle', 200, body);
    expect(problems(success)).toEqual([]);
    expect(problems({ ...success, amount: '0' })).toEqual([]);
    expect(problems({ ...success, amount: '1' })).not.toEqual([]);
    const { settlementId } = extra;
    expect(problems({ ...success, extra: { settlementId } })).not.toEqual([]);
  });

  it.each(['', '/v2'])('is true of a purchase at %s/settle', async (prefix) => {
    const body = await payment();
    expect(api.requestProblems('post', `${prefix}/settle`, body)).toEqual([]);
    const verified = await post(`${service.url}${prefix}/verify`, body);
    expectDescribed('post', `${prefix}/verify`, verified);
    const settled = await post(`${service.url}${prefix}/settle`, body);
    expectDescribed('post', `${prefix}/settle`, settled);
    const id = settled.headers.get('settlement-id') ?? '';
    const url = `${service.url}/v2/settlements/${id}`;
    await eventually('finalized', async () => (await get(url)).body['state'] === 'finalized');
    expectDescribed('get', '/v2/settlements/{id}', await get(url));
    const found = await get(
      `${service.url}/v2/settlements?transaction=${String(settled.body['transaction'])}`,
    );
    expect(found.body['settlements']).toHaveLength(1);
    expectDescribed('get', '/v2/settlements', found);
  });

  it('is true of V1', async () => {
    const body = await v1Body({
      payer: await world.payer(),
      chainId: world.chainId,
      token: world.usd,
      payTo: newAccount().address,
      network: 'bsc-testnet',
    });
    expect(api.requestProblems('post', '/v1/settle', body)).toEqual([]);
    expectDescribed('post', '/v1/verify', await post(`${service.url}/v1/verify`, body));
    expectDescribed('post', '/v1/settle', await post(`${service.url}/v1/settle`, body));
    expectDescribed('get', '/v1/supported', await get(`${service.url}/v1/supported`));
  });

  it('is true of an order handed out, and of a key used twice', async () => {
    const headers = { Prefer: 'respond-async', 'Idempotency-Key': 'order-7' };
    // Without an API key a key counts for the payee and the payer.
    const both = { payTo: newAccount().address, payer: await world.payer() };
    const handedOut = await post(`${service.url}/settle`, await payment(both), headers);
    expect(handedOut.status).toBe(202);
    expectDescribed('post', '/settle', handedOut);
    const conflict = await post(`${service.url}/settle`, await payment(both), headers);
    expect(conflict.status).toBe(409);
    expectDescribed('post', '/settle', conflict);
  });

  it('is true of refusals', async () => {
    const expired = await payment({ validFor: -10 });
    for (const path of ['/verify', '/settle']) {
      const refused = await post(service.url + path, expired);
      expect(api.problemsOf('post', path, 200, refused.body)).toEqual([]);
      expectDescribed('post', path, await post(service.url + path, ''));
      expectDescribed('post', path, await post(service.url + path, ' '.repeat(1_100_000)));
      expectDescribed('get', path, await get(`${service.url + path}?paymentPayload=x`));
    }
    expectDescribed('get', '/v2/settlements', await get(`${service.url}/v2/settlements`));
    const unknown = `${service.url}/v2/settlements/${'a'.repeat(32)}`;
    expectDescribed('get', '/v2/settlements/{id}', await get(unknown));
    expectDescribed('get', '/settle', await get(`${service.url}/settle`));
    expectDescribed('get', '/verify', await get(`${service.url}/verify`));
  });

  it('is true of what sellers may ask for in a 402', async () => {
    const { paymentRequirements: offer } = await payment();
    const other = { ...offer, network: 'eip155:8453' };
    const asked = {
      x402Version: 2,
      accepts: [other, offer],
      resource: { url: 'https://a.example' },
    };
    for (const path of ['/accepts', '/v2/accepts']) {
      expect(api.requestProblems('post', path, asked)).toEqual([]);
      const answer = await post(service.url + path, asked);
      expectDescribed('post', path, answer);
      expect([answer.status, answer.body]).toEqual([200, { ...asked, accepts: [offer] }]);
      expectDescribed('post', path, await post(service.url + path, { x402Version: 2 }));
    }
    expect((await post(`${service.url}/v1/accepts`, asked)).status).toBe(400);
  });

  it('is true of the rest', async () => {
    for (const path of ['/supported', '/v2/supported', '/health/live']) {
      const answer = await get(service.url + path);
      expect(api.problemsOf('get', path, answer.status, answer.body)).toEqual([]);
    }
    for (const path of ['/health', '/v1/health', '/v2/health', '/health/ready']) {
      const answer = await get(service.url + path);
      expect(answer.status).toBe(200);
      expect(api.problemsOf('get', path, answer.status, answer.body)).toEqual([]);
    }
    const query = new URLSearchParams({
      network: `eip155:${world.chainId}`,
      asset: world.usd,
      payer: newAccount().address,
      nonce: String(nowSeconds()),
    });
    const path = '/v2/settlements';
    expectDescribed('get', path, {
      ...(await get(`${service.url}${path}?${query.toString()}`)),
      status: 200,
    });
  });

  it('notices an answer that is not as described', () => {
    const wrong = [
      { isValid: 'yes' },
      { isValid: false },
      { isValid: true, payer: '0x', more: 1 },
      { isValid: false, invalidReason: 'because', invalidMessage: '' },
    ];
    for (const body of wrong) {
      expect(api.problemsOf('post', '/verify', 200, body)).not.toEqual([]);
    }
    expect(api.problemsOf('post', '/verify', 418, {})).toEqual(['418 is not described']);
  });

  it('has a page, which loads nothing from elsewhere', async () => {
    for (const [path, type] of [
      ['/docs', 'text/html'],
      ['/pages/docs.js', 'text/javascript'],
      ['/site.css', 'text/css'],
    ] as const) {
      const { status, headers, body } = await get(service.url + path);
      expect(status).toBe(200);
      expect(headers.get('content-type')).toContain(type);
      expect(body['text']).not.toMatch(/https?:\/\//);
    }
    const { headers } = await get(`${service.url}/docs`);
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none';script-src 'self'/);
  });

  it('describes what a process without the role api serves, and no more', async () => {
    const worker = await world.service({ ROLES: 'worker' });
    const { body } = await get(`${worker.url}/openapi.json`);
    expect(Object.keys(body['paths'] as object)).toEqual(
      expect.arrayContaining(['/health', '/health/ready']),
    );
    expect(Object.keys(body['paths'] as object)).not.toContain('/settle');
  });
});
