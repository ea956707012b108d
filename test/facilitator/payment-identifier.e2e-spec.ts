import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme as ExactEvmClient } from '@x402/evm/exact/client';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import {
  appendPaymentIdentifierToExtensions,
  declarePaymentIdentifierExtension,
  generatePaymentId,
} from '@x402/extensions';
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch';
import express from 'express';
import type { PrivateKeyAccount } from 'viem/accounts';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { freePort } from '../../sandbox/processes.js';
import { listen } from '../../sandbox/seller.js';
import type { Service } from '../../sandbox/service.js';
import { ApiDescription } from '../support/api-description.js';
import { type Answer, get, post } from '../support/http.js';
import { eip3009Body, type Json, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const DECLARED = { 'payment-identifier': declarePaymentIdentifierExtension(true) };

/** A purchase by the stock client, of a seller with the stock middleware that asks for identifiers. */
describe('payment-identifier', () => {
  let world: World;
  let service: Service;
  let seller: Server;
  let url: string;
  const payTo = newAccount().address;

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.3 });
    service = await world.service();
    const network = `eip155:${world.chainId}` as const;
    const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: service.url }));
    server.register(network, new ExactEvmScheme());
    const extra = { name: USD_NAME, version: USD_VERSION };
    const price = { amount: '1000', asset: world.usd, extra };
    const accepts = { scheme: 'exact', network, payTo, price };
    const app = express();
    app.use(paymentMiddleware({ 'GET /report': { accepts, extensions: DECLARED } }, server));
    app.get('/report', (_request, response) => {
      response.json({ report: 'All is well.' });
    });
    const port = await freePort();
    seller = await listen(app, port);
    url = `http://127.0.0.1:${port}/report`;
  });
  afterAll(async () => {
    seller.close();
    seller.closeAllConnections();
    await world.stop();
  });

  /** @returns the hash of the transaction. */
  async function buy(account: PrivateKeyAccount, id: string): Promise<string> {
    const client = new x402Client()
      .register('eip155:*', new ExactEvmClient(account))
      .setSpendControls({ allowedAssets: true })
      .onBeforePaymentCreation(({ paymentRequired }) => {
        appendPaymentIdentifierToExtensions(paymentRequired.extensions ?? {}, id);
        return Promise.resolve();
      });
    const response = await wrapFetchWithPayment(fetch, client)(url);
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining('All is well.'),
    ]);
    const receipt = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '');
    return receipt.transaction;
  }

  const lookUp = (query: Readonly<Record<string, string>>): Promise<Answer> =>
    get(`${service.url}/v2/settlements?${new URLSearchParams(query).toString()}`);
  const hashesIn = ({ body }: Answer): unknown =>
    (body['settlements'] as Json[] | undefined)?.map(({ transaction }) => transaction);

  it('is listed by /supported where payloads have extensions', async () => {
    const extensions = async (path: string): Promise<unknown> =>
      (await get(service.url + path)).body['extensions'];
    expect(await extensions('/supported')).toContain('payment-identifier');
    expect(await extensions('/v2/supported')).toContain('payment-identifier');
    expect(await extensions('/v1/supported')).not.toContain('payment-identifier');
  });

  it('finds what was paid under it, and stops no second payment of the same one', async () => {
    const payer = await world.payer();
    const id = generatePaymentId();
    const query = { paymentId: id, payTo, payer: payer.address };
    expect((await lookUp(query)).status).toBe(404);
    const first = await buy(payer, id);
    expect(hashesIn(await lookUp(query))).toEqual([first]);
    const second = await buy(payer, id);
    const found = await lookUp(query);
    expect(hashesIn(found)).toEqual([second, first]);
    const api = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
    expect(api.problemsOf('get', '/v2/settlements', found.status, found.body)).toEqual([]);
    // It shows the landed settlement, and never that it can be sold.
    expect(JSON.stringify(found.body)).not.toContain('success');
  });

  it('is of its payee and payer: others have nothing by it, and need to know both', async () => {
    const [payer, other] = [await world.payer(), await world.payer()];
    const id = generatePaymentId();
    const hash = await buy(payer, id);
    const ask = (more: Readonly<Record<string, string>>): Promise<Answer> =>
      lookUp({ paymentId: id, payTo, payer: payer.address, ...more });
    expect(hashesIn(await ask({ payer: payer.address.toLowerCase() }))).toEqual([hash]);
    expect((await ask({ payer: other.address })).status).toBe(404);
    expect((await ask({ payTo: other.address })).status).toBe(404);
    expect((await ask({ paymentId: generatePaymentId() })).status).toBe(404);
    expect((await lookUp({ paymentId: id })).status).toBe(400);
    expect((await lookUp({ paymentId: id, payer: payer.address })).status).toBe(400);
    expect((await ask({ paymentId: 'short' })).status).toBe(400);
    // A buyer of one's own id takes nothing away from the first.
    await buy(other, id);
    expect(hashesIn(await ask({}))).toEqual([hash]);
  });

  it('changes no answer where it is malformed, required or anything else', async () => {
    for (const info of [
      { required: true },
      { required: true, id: 'x' },
      { required: true, id: 'a'.repeat(100_000) },
      { id: { id: 'a'.repeat(20) } },
    ]) {
      const body = await eip3009Body({
        payer: await world.payer(),
        chainId: world.chainId,
        token: world.usd,
        payTo,
      });
      body.paymentPayload['extensions'] = { 'payment-identifier': { info } };
      const settled = await post(`${service.url}/settle`, body);
      expect(settled.body).toMatchObject({ success: true });
    }
  });
});
