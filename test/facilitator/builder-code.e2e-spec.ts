import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme as ExactEvmClient } from '@x402/evm/exact/client';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import {
  BuilderCodeClientExtension,
  declareBuilderCodeExtension,
  parseBuilderCodeSuffixFromCalldata,
} from '@x402/extensions/builder-code';
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch';
import express from 'express';
import { decodeFunctionData, type Hex, multicall3Abi } from 'viem';
import { sandboxAccount, SIGNER } from '../../sandbox/accounts.js';
import { MULTICALL3, sendNow, USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { freePort } from '../../sandbox/processes.js';
import { listen } from '../../sandbox/seller.js';
import type { Service } from '../../sandbox/service.js';
import { dataSuffixOf } from '../../src/protocol/payment/builder-code.js';
import { get, post } from '../support/http.js';
import {
  type Body,
  eip3009Body,
  newAccount,
  permit2Body,
  uptoBody,
  v1Body,
} from '../support/payments.js';
import { undeployedWallet, wrappedIn } from '../support/smart-wallets.js';
import { presentationData } from '../support/token-calls.js';
import { World } from '../support/world.js';

type Codes = ReturnType<typeof parseBuilderCodeSuffixFromCalldata>;

const OWN = 'our_facilitator';
const AMOUNT = 1000n;

/** The same payment with what a client and a seller have said of themselves. */
function withCodes(body: Body, info: unknown): Body {
  const extensions = { 'builder-code': { info } };
  return { ...body, paymentPayload: { ...body.paymentPayload, extensions } };
}

describe('builder-code', () => {
  let world: World;
  let service: Service;
  let factory: Hex;
  const payTo = newAccount().address;

  beforeAll(async () => {
    world = await World.start({ chainId: 31_337, blockTime: 0.3 });
    factory = await world.deployTest('MoodyFactory');
    service = await world.service({ BUILDER_CODE: OWN, ERC6492_FACTORIES: factory });
  });
  afterAll(() => world.stop());

  /** A service with a ledger and a signer of its own. */
  const elsewhere = (index: number, more: Readonly<Record<string, string>> = {}) =>
    world.service({
      REDIS_URL: `${world.redis.url}/${index}`,
      SIGNER_KEYS: sandboxAccount(10 + index).key,
      ...more,
    });

  async function aBody(): Promise<Body> {
    const { chainId, usd: token } = world;
    return eip3009Body({ payer: await world.payer(), chainId, token, payTo, amount: AMOUNT });
  }

  /** @returns the hash of the transaction. */
  async function settled(body: Body, { url } = service): Promise<Hex> {
    expect((await post(`${url}/verify`, body)).body).toMatchObject({ isValid: true });
    const { body: answer } = await post(`${url}/settle`, body);
    expect(answer).toMatchObject({ success: true });
    return answer['transaction'] as Hex;
  }
  const calldataOf = async (hash: Hex): Promise<Hex> =>
    (await world.client.getTransaction({ hash })).input;
  const codesOf = async (hash: Hex): Promise<Codes> =>
    parseBuilderCodeSuffixFromCalldata(await calldataOf(hash));

  it('is listed by /supported where it is on, and payloads have extensions', async () => {
    const off = await elsewhere(1);
    const extensions = async ({ url }: Service, path: string): Promise<unknown> =>
      (await get(url + path)).body['extensions'];
    expect(await extensions(service, '/supported')).toContain('builder-code');
    expect(await extensions(service, '/v1/supported')).not.toContain('builder-code');
    expect(await extensions(off, '/supported')).not.toContain('builder-code');
    // A declared code changes nothing where the feature is off.
    const hash = await settled(withCodes(await aBody(), { a: 'weather', s: ['agent'] }), off);
    expect(await codesOf(hash)).toBeUndefined();
    await off.stop('SIGKILL');
  });

  it('puts the codes of the stock seller and the stock client at the end of the calldata', async () => {
    const network = `eip155:${world.chainId}` as const;
    const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: service.url }));
    server.register(network, new ExactEvmScheme());
    const extra = { name: USD_NAME, version: USD_VERSION };
    const price = { amount: AMOUNT.toString(), asset: world.usd, extra };
    const accepts = { scheme: 'exact', network, payTo, price };
    const extensions = { 'builder-code': declareBuilderCodeExtension('weather', 'server_kit') };
    const app = express();
    app.use(paymentMiddleware({ 'GET /report': { accepts, extensions } }, server));
    app.get('/report', (_request, response) => {
      response.json({ report: 'All is well.' });
    });
    const port = await freePort();
    const seller: Server = await listen(app, port);
    const client = new x402Client()
      .register('eip155:*', new ExactEvmClient(await world.payer()))
      .registerExtension(new BuilderCodeClientExtension(['agent', 'kit']))
      .setSpendControls({ allowedAssets: true });
    const response = await wrapFetchWithPayment(fetch, client)(`http://127.0.0.1:${port}/report`);
    seller.close();
    seller.closeAllConnections();
    expect(response.status).toBe(200);
    const receipt = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '');
    const codes = await codesOf(receipt.transaction as Hex);
    expect(codes).toMatchObject({ a: 'weather', w: OWN });
    expect([codes?.s].flat().sort()).toEqual(['agent', 'kit', 'server_kit']);
  });

  it('does so for every scheme and version, and for a wallet that is made by the payment', async () => {
    const { chainId, usd, coin } = world;
    const wallet = await undeployedWallet(world.client, factory);
    await world.fund(wallet.address, AMOUNT);
    const approved = { payer: await world.payer({ approves: true }), chainId, token: coin, payTo };
    const undeployed = { payer: wallet.owner, from: wallet.address, chainId, token: usd, payTo };
    const bodies: [string, Body, Codes][] = [
      ['exact', await permit2Body(approved), { a: 'weather', w: OWN, s: ['agent'] }],
      [
        'upto',
        await uptoBody({ ...approved, facilitator: SIGNER.address }),
        { a: 'weather', w: OWN, s: ['agent'] },
      ],
      [
        'V1',
        await v1Body({
          payer: await world.payer(),
          chainId,
          token: usd,
          payTo,
          network: 'anvil',
        }),
        { w: OWN, s: ['agent'] },
      ],
      [
        'a wallet that is made',
        wrappedIn(await eip3009Body(undeployed), factory, wallet.dataFor('honest')),
        { a: 'weather', w: OWN, s: ['agent'] },
      ],
    ];
    for (const [name, body, expected] of bodies) {
      const hash = await settled(withCodes(body, { a: 'weather', s: ['agent'] }));
      expect([name, await codesOf(hash)]).toEqual([name, expected]);
    }
  });

  it.each<[string, unknown, Codes]>([
    ['nothing', undefined, { w: OWN }],
    ['no text', { a: 7, s: [{}, null] }, { w: OWN }],
    ['other characters', { a: 'Weather', s: ['a b', 'ok'] }, { w: OWN, s: ['ok'] }],
    ['a code of another facilitator', { w: 'thief' }, { w: OWN }],
    ['a very long code', { a: 'a'.repeat(200_000) }, { w: OWN }],
    [
      'very many',
      { s: Array.from({ length: 20_000 }, (_, index) => `s${index}`) },
      { w: OWN, s: Array.from({ length: 10 }, (_, index) => `s${index}`) },
    ],
  ])('passes over what is malformed, and settles: %s', async (_, info, expected) => {
    expect(await codesOf(await settled(withCodes(await aBody(), info)))).toEqual(expected);
  });

  it('has the codes of each payment of a batch behind its own call, and its own at the end', async () => {
    const batching = await elsewhere(2, { LANE_WINDOW_MAX: '1', BUILDER_CODE: OWN });
    const bodies: Body[] = [];
    for (let index = 0; index < 12; index += 1) {
      bodies.push(withCodes(await aBody(), { a: `app_${index}`, s: ['agent'] }));
    }
    const answers = await Promise.all(bodies.map((body) => post(`${batching.url}/settle`, body)));
    const hashes = answers.map(({ body }) => body['transaction'] as Hex);
    expect(answers.every(({ body }) => body['success'] === true)).toBe(true);
    const inputs = await Promise.all(
      [...new Set(hashes)].map((hash) => world.client.getTransaction({ hash })),
    );
    const batches = inputs.filter(({ to }) => to?.toLowerCase() === MULTICALL3.toLowerCase());
    expect(batches.length).toBeGreaterThan(0);
    const seen = batches.flatMap(({ input }) => {
      expect(parseBuilderCodeSuffixFromCalldata(input)).toEqual({ w: OWN });
      const { functionName, args } = decodeFunctionData({ abi: multicall3Abi, data: input });
      if (functionName !== 'aggregate3') throw new Error(functionName);
      return args[0].map(({ callData }) => parseBuilderCodeSuffixFromCalldata(callData)?.a);
    });
    const alone = inputs.filter((one) => !batches.includes(one));
    const all = [
      ...seen,
      ...alone.map(({ input }) => parseBuilderCodeSuffixFromCalldata(input)?.a),
    ];
    expect(all.sort()).toEqual(bodies.map((_, index) => `app_${index}`).sort());
    await batching.stop('SIGKILL');
  });

  it('is what was judged, whatever the settings of the process that sends it', async () => {
    const worker = await elsewhere(3, { ROLES: 'worker' });
    const api = await elsewhere(3, { ROLES: 'api', BUILDER_CODE: OWN });
    const hash = await settled(withCodes(await aBody(), { a: 'weather' }), api);
    expect(await codesOf(hash)).toEqual({ a: 'weather', w: OWN });
    await Promise.all([api.stop('SIGKILL'), worker.stop('SIGKILL')]);
  });

  it('hides no use of an authorization: what another presented with a suffix is found', async () => {
    const body = await aBody();
    const suffix = dataSuffixOf('stranger', { app: 'weather', services: [] }) ?? '0x';
    const data: Hex = `${presentationData(body)}${suffix.slice(2)}`;
    const { transactionHash: hash } = await sendNow(world.client, { to: world.usd, data });
    expect((await post(`${service.url}/settle`, body)).body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
      transaction: hash,
    });
  });
});
