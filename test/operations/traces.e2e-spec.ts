import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import type { Service } from '../../sandbox/service.js';
import { Collector, type SeenSpan } from '../support/collector.js';
import { eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/** A seller's own span, in a trace of its own. */
function sellersSpan() {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01` } };
}

describe('traces', () => {
  let world: World;
  let collector: Collector;
  /** Two processes, so that a settlement goes from one to the other. */
  let api: Service;
  let payTo: Address;

  beforeAll(async () => {
    collector = await Collector.start();
    world = await World.start({ blockTime: 0.3 });
    const traced = { TRACES_URL: collector.url, TRACES_SERVICE: 'pay' };
    api = await world.service({ ...traced, ROLES: 'api' });
    await world.service({ ...traced, ROLES: 'worker' });
    payTo = newAccount().address;
    await eventually('settles', async () => (await get(`${api.url}/health`)).status === 200);
  });
  afterAll(async () => {
    await world.stop();
    collector.stop();
  });

  async function payment(): Promise<Body> {
    return eip3009Body({
      payer: await world.payer(),
      chainId: world.chainId,
      token: world.usd,
      payTo,
    });
  }

  const named = (spans: readonly SeenSpan[], name: string): SeenSpan | undefined =>
    spans.find((span) => span.name === name);

  it('follow a settlement from the seller to finality, over two processes, in one trace', async () => {
    const seller = sellersSpan();
    const body = await payment();
    const answer = await post(`${api.url}/settle`, body, seller.headers);
    expect(answer.body['success']).toBe(true);
    const said = answer.headers.get('traceparent')?.split('-') ?? [];
    expect(said[1]).toBe(seller.traceId);

    // Two processes tell of it, each in its own time.
    await eventually('the request and the settlement are told', () =>
      ['POST /settle', 'wait for finality'].every((name) =>
        named(collector.ofTrace(seller.traceId), name),
      ),
    );
    const spans = collector.ofTrace(seller.traceId);
    const request = named(spans, 'POST /settle');
    expect(request).toMatchObject({
      parentSpanId: seller.spanId,
      spanId: said[2],
      isError: false,
      attributes: { 'http.response.status_code': 200, 'x402.result': 'success' },
    });
    const settlement = named(spans, 'settlement');
    expect(settlement).toMatchObject({
      parentSpanId: request?.spanId,
      isError: false,
      attributes: {
        'x402.state': 'finalized',
        'x402.transaction': answer.body['transaction'],
        'x402.network': `eip155:${world.chainId}`,
        'x402.settlement.id': answer.headers.get('settlement-id'),
      },
    });
    const phases = ['wait for a lane', 'wait for a block', 'wait for finality'].map((name) =>
      named(spans, name),
    );
    let at = settlement?.from ?? 0;
    for (const phase of phases) {
      expect(phase?.parentSpanId).toBe(settlement?.spanId);
      expect(phase?.from).toBe(at);
      at = phase?.to ?? 0;
    }
    expect(at).toBe(settlement?.to);
    // What the Redis client tells of it.
    const others = spans.map(({ name }) => name);
    expect(others.some((name) => name.startsWith('redis '))).toBe(true);
  });

  it('say why a payment was refused', async () => {
    const seller = sellersSpan();
    const poor = await eip3009Body({
      payer: newAccount(),
      chainId: world.chainId,
      token: world.usd,
      payTo,
    });
    await post(`${api.url}/verify`, poor, seller.headers);
    await eventually('the request is told', () => collector.ofTrace(seller.traceId).length > 0);
    await eventually('its span is there', () =>
      collector.ofTrace(seller.traceId).some(({ name }) => name === 'POST /verify'),
    );
    expect(named(collector.ofTrace(seller.traceId), 'POST /verify')?.attributes).toMatchObject({
      'x402.result': 'invalid',
      'x402.reason': 'invalid_exact_evm_insufficient_balance',
    });
    // The call to the node is part of it, without the path that may hold a key.
    const call = named(collector.ofTrace(seller.traceId), 'POST');
    expect(call?.attributes).toMatchObject({ 'url.path': '', 'url.query': '' });
    expect(call?.attributes['url.full']).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it('tell neither payer nor payee nor signature', async () => {
    const body = await payment();
    await post(`${api.url}/settle`, body, sellersSpan().headers);
    const before = collector.spans.length;
    await eventually('more is told', () => collector.spans.length > before);
    const exported = collector.texts.join('').toLowerCase();
    const { signature } = body.paymentPayload['payload'] as { readonly signature: string };
    expect(exported).not.toContain(payTo.slice(2).toLowerCase());
    expect(exported).not.toContain(signature.slice(2, 40).toLowerCase());
  });

  it('take a broken traceparent for none', async () => {
    for (const traceparent of ['00-zz-1-01', 'x'.repeat(5000), `00-${'0'.repeat(32)}-1-01`]) {
      const answer = await post(`${api.url}/verify`, await payment(), { traceparent });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('traceparent')).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    }
  });

  it('cost no payment where their collector is gone', async () => {
    const gone = await Collector.start();
    const service = await world.service({ TRACES_URL: gone.url, ROLES: 'api,worker' });
    gone.stop();
    for (let count = 0; count < 5; count += 1) {
      const answer = await post(`${service.url}/settle`, await payment());
      expect(answer.body['success']).toBe(true);
    }
    await service.stop();
  });

  it('are nowhere where they are off', async () => {
    const service = await world.service({ ROLES: 'api' });
    const { headers } = await post(`${service.url}/verify`, await payment(), sellersSpan().headers);
    expect(headers.get('traceparent')).toBeNull();
  });
});
