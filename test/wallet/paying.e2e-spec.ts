import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { recoverMessageAddress, recoverTypedDataAddress, type TypedDataDefinition } from 'viem';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { freePort } from '../../sandbox/processes.js';
import { demoSeller, listen } from '../../sandbox/seller.js';
import { newAccount, TRANSFER_TYPES } from '../support/payments.js';
import { WalletWorld } from './wallet-world.js';

const ONE = 10n ** 18n;

describe('paying from a wallet', () => {
  let wallets: WalletWorld;
  let seller: Server;
  let report: string;
  const payTo = newAccount().address;

  beforeAll(async () => {
    wallets = await WalletWorld.start();
    const { usd, coin, chainId } = wallets.world;
    const port = await freePort();
    const network = `eip155:${chainId}` as const;
    const facilitatorUrl = wallets.url;
    seller = await listen(
      demoSeller({ facilitatorUrl, network, payTo, usd, coin, price: ONE }),
      port,
    );
    report = `http://127.0.0.1:${port}/report`;
  });
  afterAll(async () => {
    seller.close();
    seller.closeAllConnections();
    await wallets.stop();
  });

  const pay = (agent: string, intentId: string, more: Record<string, unknown> = {}) =>
    wallets.post(
      '/v1/wallets/me/payments',
      { url: report, maxAmount: '1', intentId, ...more },
      agent,
    );
  const received = () => wallets.world.balance(wallets.world.usd, payTo);

  it('quotes, buys through our own facilitator, and gives content and receipt', async () => {
    const { agent } = await wallets.fundedWallet();
    const quote = await wallets.post('/v1/wallets/me/payments/quote', { url: report }, agent);
    expect(quote.body).toMatchObject({ httpStatus: 402, offers: [{ isAllowed: true }] });
    const before = await received();
    const bought = await pay(agent, 'first');
    expect(bought.body).toMatchObject({ status: 'paid', httpStatus: 200 });
    expect(JSON.parse(String(bought.body['body']))).toMatchObject({ report: 'All is well.' });
    expect(bought.body['transaction']).toMatch(/^0x[0-9a-f]{64}$/);
    expect((await received()) - before).toBe(ONE);
  });

  it('pays once for one intent, asked for in parallel, again, and after a loss of Redis', async () => {
    const { agent } = await wallets.fundedWallet();
    const before = await received();
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => pay(agent, 'same')));
    expect(new Set(answers.map(({ body }) => body['transaction'])).size).toBe(1);
    expect((await pay(agent, 'same')).body['status']).toBe('paid');
    expect((await pay(agent, 'same', { url: `${report}?other` })).status).toBe(409);
    await wallets.flush();
    await pay(agent, 'same');
    expect((await received()) - before).toBe(ONE);
  });

  it('gives exactly 10 of 20 parallel payments of 1.00 from a budget of 10.00', async () => {
    const { agent, ownerToken } = await wallets.fundedWallet();
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, wallets.rules());
    const before = await received();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => pay(agent, `parallel-${index}`)),
    );
    const paid = answers.filter(({ body }) => body['status'] === 'paid');
    const refused = answers.filter(({ status }) => status === 403);
    expect([paid.length, refused.length]).toEqual([10, 10]);
    expect(new Set(refused.map(({ body }) => body['rule']))).toEqual(new Set(['budget']));
    expect((await received()) - before).toBe(10n * ONE);

    // Neither a loss of Redis nor another process gives the budget back.
    await wallets.flush();
    const again = await Promise.all([1, 2, 3].map((index) => pay(agent, `flushed-${index}`)));
    expect(again.map(({ body }) => body['rule'])).toEqual(['budget', 'budget', 'budget']);
    expect((await received()) - before).toBe(10n * ONE);
  });

  it('stays locked after a loss of Redis until its journal is there', async () => {
    const { agent } = await wallets.fundedWallet();
    expect((await pay(agent, 'before')).body['status']).toBe('paid');
    const restore = await wallets.hideJournal();
    await wallets.flush();
    const locked = await pay(agent, 'while-locked');
    expect([locked.status, locked.body['code']]).toEqual([423, 'wallet_locked']);
    await restore();
    const policy = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    expect(policy.body).toMatchObject({ limits: [{ spent: { decimal: '1' } }, {}] });
  });

  it('asks no more than allowed, and stops when the owner says so', async () => {
    const { agent } = await wallets.fundedWallet();
    const dear = await pay(agent, 'dear', { maxAmount: '0.99' });
    expect(dear.body).toMatchObject({ code: 'policy_violation', rule: 'max_amount' });
    await wallets.post('/v1/wallets/me/stop', '', agent);
    expect((await pay(agent, 'stopped')).body['rule']).toBe('kill_switch');
  });

  it('refuses addresses that are not public, also behind a redirect, and sends no payment there', async () => {
    const { agent } = await wallets.fundedWallet();
    const redirecting = createServer((_request, response) => {
      response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end();
    });
    await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve));
    const { port } = redirecting.address() as AddressInfo;
    const targets = [
      'http://10.0.0.1/',
      'http://[::1]/',
      'http://localhost/',
      'file:///etc/passwd',
    ];
    for (const url of [...targets, `http://127.0.0.1:${port}/`]) {
      const answer = await pay(agent, 'inside', { url });
      expect([url, answer.status, answer.body['code']]).toEqual([url, 403, 'fetch_refused']);
    }
    redirecting.close();
  });

  describe('by rpc', () => {
    const transfer = (from: string, more: Record<string, unknown> = {}) => ({
      domain: {
        name: USD_NAME,
        version: USD_VERSION,
        chainId: wallets.world.chainId,
        verifyingContract: wallets.world.usd,
      },
      types: TRANSFER_TYPES,
      message: {
        from,
        to: payTo,
        value: `${ONE}`,
        validAfter: '0',
        validBefore: `${Math.floor(Date.now() / 1000) + 300}`,
        nonce: `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`,
        ...more,
      },
    });
    const sign = (agent: string, typedData: unknown, key?: string) =>
      wallets.post(
        '/v1/wallets/me/rpc',
        { method: 'eth_signTypedData_v4', params: { typed_data: typedData } },
        agent,
        key,
      );
    const signatureOf = ({ body }: { body: unknown }) =>
      (body as { data: { signature: `0x${string}` } }).data.signature;

    it('signs a payment within the rules, under either name of the type', async () => {
      const { agent, address } = await wallets.fundedWallet();
      const data = transfer(address);
      const primary = 'TransferWithAuthorization';
      const first = signatureOf(await sign(agent, { ...data, primaryType: primary }));
      const second = signatureOf(await sign(agent, { ...data, primary_type: primary }));
      expect(first).toBe(second);
      const typed = { ...data, primaryType: primary } as unknown as TypedDataDefinition;
      expect(await recoverTypedDataAddress({ ...typed, signature: first })).toBe(address);
    });

    it('refuses what is over the limit, unknown, a permit, too long, or a used nonce', async () => {
      const { agent, ownerToken, address } = await wallets.fundedWallet();
      await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, wallets.rules());
      const primaryType = 'TransferWithAuthorization';
      const good = { ...transfer(address), primaryType };
      const rule = async (typedData: unknown) => (await sign(agent, typedData)).body['rule'];
      const withMessage = (more: Record<string, unknown>) => ({
        ...good,
        message: { ...good.message, ...more },
      });
      expect(await rule(withMessage({ value: `${ONE + 1n}` }))).toBe('per_payment');
      expect(await rule({ ...good, domain: { ...good.domain, name: 'Other' } })).toBe('scope_off');
      expect(await rule({ ...good, domain: { ...good.domain, verifyingContract: payTo } })).toBe(
        'scope_off',
      );
      expect(await rule(withMessage({ validBefore: '99999999999' }))).toBe('validity');
      expect(await rule(withMessage({ from: payTo }))).toBe('unsignable');
      const types = { Permit: good.types.TransferWithAuthorization };
      expect(await rule({ ...good, types, primaryType: 'Permit' })).toBe('scope_off');
      expect((await sign(agent, good)).status).toBe(200);
      // The same nonce for longer would outlive the charge.
      const longer = `${Number(good.message.validBefore) + 600}`;
      expect(await rule(withMessage({ validBefore: longer }))).toBe('nonce_reused');
      const policy = await wallets.send('GET', '/v1/wallets/me/policy', agent);
      expect(policy.body).toMatchObject({ limits: [{ spent: { decimal: '1' } }] });
    });

    it('answers one idempotency key once, and refuses it for another request', async () => {
      const { agent, address } = await wallets.fundedWallet();
      const primaryType = 'TransferWithAuthorization';
      const data = { ...transfer(address), primaryType };
      const answers = await Promise.all([1, 2, 3, 4].map(() => sign(agent, data, 'key')));
      expect(new Set(answers.map(signatureOf)).size).toBe(1);
      const other = { ...transfer(address), primaryType };
      expect((await sign(agent, other, 'key')).status).toBe(409);
    });

    it('signs messages and sends transactions only when the owner has switched that on', async () => {
      const { agent, ownerToken, address } = await wallets.fundedWallet();
      const caip2 = `eip155:${wallets.world.chainId}`;
      const call = (method: string, params: unknown, key?: string) =>
        wallets.post('/v1/wallets/me/rpc', { method, params, caip2 }, agent, key);
      const transaction = { to: payTo, value: '0x1' };
      expect((await call('personal_sign', { message: 'hello' })).body['rule']).toBe('scope_off');
      const off = await call('eth_sendTransaction', { transaction });
      expect(off.body['rule']).toBe('scope_off');

      const { limits } = wallets.rules() as { limits: unknown[] };
      const native = `${caip2}/0x${'0'.repeat(40)}`;
      const rules = {
        limits: [...limits, { asset: native, perPayment: '1', budget: '10' }],
        scopes: ['personal_sign', 'send_transaction'],
      };
      await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, rules);
      await wallets.world.client.setBalance({ address, value: ONE });
      const first = signatureOf(await call('personal_sign', { message: 'hello' }));
      const second = signatureOf(await call('personal_sign', ['hello', address]));
      expect(first).toBe(second);
      expect(await recoverMessageAddress({ message: 'hello', signature: first })).toBe(address);

      const sent = await Promise.all(
        [1, 2, 3].map(() => call('eth_sendTransaction', { transaction }, 'one')),
      );
      const data = sent.map(({ body }) => (body as { data: { hash: string } }).data);
      expect(data[0]).toMatchObject({ caip2 });
      expect(new Set(data.map(({ hash }) => hash)).size).toBe(1);
      await wallets.flush();
      const lost = await call('eth_sendTransaction', { transaction }, 'one');
      expect(lost.body['code']).toBe('outcome_unknown');
      expect((await call('eth_accounts', {})).body['code']).toBe('unsupported_method');
    });
  });
});
