import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { getAddress, recoverMessageAddress } from 'viem';
import { eventually, post } from '../../support/http.js';
import { newAccount } from '../../support/payments.js';
import { TestSeller } from '../test-seller.js';
import { transferData } from '../transfer-data.js';
import { WalletWorld } from '../wallet-world.js';
import { type Fault, PrivyFixture } from './privy-fixture.js';

const ONE = 10n ** 18n;

describe('a wallet in the custody of Privy', () => {
  let privy: PrivyFixture;
  let wallets: WalletWorld;
  let seller: TestSeller;

  beforeAll(async () => {
    privy = await PrivyFixture.start();
    wallets = await WalletWorld.start(privy.settings);
    seller = await TestSeller.start(wallets.world, wallets.url);
  });
  afterAll(async () => {
    seller.stop();
    await wallets.stop();
    privy.stop();
  });
  afterEach(() => {
    privy.heal();
  });

  const pay = (agent: string, intentId: string) =>
    wallets.post(
      '/v1/wallets/me/payments',
      { url: `${seller.url}/report`, maxAmount: '1', intentId },
      agent,
    );
  const spent = async (agent: string): Promise<unknown> => {
    const { body } = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    return (body as { limits: { spent: { decimal: string } }[] }).limits[0]?.spent.decimal;
  };

  it('pays a stock seller through our own facilitator', async () => {
    const { agent, address } = await wallets.fundedWallet();
    const before = await seller.received();
    const bought = await pay(agent, 'first');
    expect(bought.body).toMatchObject({ status: 'paid', httpStatus: 200 });
    expect((await seller.received()) - before).toBe(1);
    const known = [...privy.wallets.values()].map(({ account }) => account.address.toLowerCase());
    expect(known).toContain(address.toLowerCase());
  });

  it('is made once with its policy, whichever of two processes is asked first', async () => {
    const other = await wallets.another({ ROLES: 'wallet' });
    const before = privy.wallets.size;
    const owner = newAccount();
    const token = await wallets.signIn(owner);
    const headers = { authorization: `Bearer ${token}` };
    const asked = Array.from({ length: 12 }, (_, at) =>
      fetch(`${at % 2 === 0 ? wallets.url : other.url}/v1/wallets/me`, { headers }),
    );
    const answers = await Promise.all(asked);
    const bodies = await Promise.all(answers.map((answer) => answer.json()));
    const addresses = bodies.map((body) => (body as { ethereum: string }).ethereum);
    expect(new Set(addresses).size).toBe(1);
    expect(privy.wallets.size - before).toBe(1);
    const [made] = [...privy.wallets.values()].slice(-1);
    const [policyId = ''] = made?.view['policy_ids'] as string[];
    const policy = privy.policies.get(policyId);
    expect(policy?.rules.map(({ method, action }) => `${action} ${method}`)).toEqual(
      Array(3).fill('ALLOW eth_signTypedData_v4'),
    );
    expect(policy?.body['owner']).toEqual(expect.objectContaining({ public_key: made?.owner }));
    await other.stop('SIGTERM');
  });

  it('sends nothing to Privy that the rules refuse', async () => {
    const { agent, address, ownerToken } = await wallets.fundedWallet();
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, wallets.rules());
    const before = privy.requests.length;
    const sign = (more: object, domain: object = {}, primaryType = 'TransferWithAuthorization') =>
      wallets.post(
        '/v1/wallets/me/rpc',
        {
          method: 'eth_signTypedData_v4',
          params: { typed_data: transferData(wallets.world, address, more, domain, primaryType) },
        },
        agent,
      );
    const answers = [
      await sign({ value: `${ONE + 1n}` }),
      await sign({}, { name: 'Other' }),
      await sign({}, { verifyingContract: newAccount().address }),
      await sign({}, {}, 'Permit'),
      await sign({ validBefore: '99999999999' }),
      await wallets.post('/v1/wallets/me/rpc', { method: 'personal_sign', params: ['x'] }, agent),
      await wallets.post('/v1/wallets/me/rpc', { method: 'exportPrivateKey', params: {} }, agent),
    ];
    expect(answers.map(({ body }) => body['code'])).toEqual([
      ...Array<string>(6).fill('policy_violation'),
      'unsupported_method',
    ]);
    expect(privy.requests.slice(before)).toEqual([]);
  });

  it('signs typed data however its values are written', async () => {
    const { agent, address } = await wallets.fundedWallet();
    const data = transferData(wallets.world, address, {
      value: '0x0de0b6b3a7640000',
      validBefore: Math.floor(Date.now() / 1000) + 300,
    });
    const { domain } = data as { domain: { verifyingContract: `0x${string}` } };
    const mixed = { ...domain, verifyingContract: getAddress(domain.verifyingContract) };
    const rpc = {
      method: 'eth_signTypedData_v4',
      params: { typed_data: { ...data, domain: mixed } },
    };
    expect((await wallets.post('/v1/wallets/me/rpc', rpc, agent)).status).toBe(200);
  });

  it('is held to its cap by Privy too, should our own rules allow more', async () => {
    const { agent, address, ownerToken } = await wallets.fundedWallet();
    const [limit] = wallets.rules()['limits'] as object[];
    const rules = { limits: [{ ...limit, perPayment: `${5n * ONE}` }] };
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, rules);
    const rpc = {
      method: 'eth_signTypedData_v4',
      params: { typed_data: transferData(wallets.world, address, { value: `${2n * ONE}` }) },
    };
    const answer = await wallets.post('/v1/wallets/me/rpc', rpc, agent);
    expect([answer.status, answer.body['code']]).toEqual([403, 'provider_refused']);
    // It was charged before Privy was asked, and stays so until the chain proves it unused.
    expect(await spent(agent)).toBe('2');
  });

  const always = { times: 99 };
  const faults: readonly (readonly [string, Fault, number, string])[] = [
    ['429 without end', { kind: 'status', status: 429, ...always }, 503, 'provider_unavailable'],
    ['500 without end', { kind: 'status', status: 500, ...always }, 502, 'outcome_unknown'],
    ['no answer', { kind: 'silent_before', ...always }, 502, 'outcome_unknown'],
    ['no answer after it has signed', { kind: 'silent_after' }, 502, 'outcome_unknown'],
    ['a connection that ends after it has signed', { kind: 'drop_after' }, 502, 'outcome_unknown'],
    ['an answer that is not one', { kind: 'garbage' }, 502, 'outcome_unknown'],
    ['a web page', { kind: 'not_json' }, 502, 'outcome_unknown'],
    ['an answer without end', { kind: 'endless' }, 502, 'outcome_unknown'],
    ['the signature of another key', { kind: 'wrong_signature' }, 502, 'outcome_unknown'],
    ['409', { kind: 'status', status: 409 }, 403, 'provider_refused'],
    ['revoked credentials', { kind: 'status', status: 401 }, 403, 'provider_refused'],
    [
      'its policy',
      { kind: 'status', status: 400, code: 'policy_violation' },
      403,
      'provider_refused',
    ],
  ];
  it.each(faults)(
    'says what %s means, and pays the same once after it',
    async (_, fault, status, code) => {
      const { agent } = await wallets.fundedWallet();
      const before = await seller.received();
      privy.fail('sign_typed_data', fault);
      const failed = await pay(agent, 'the-one');
      expect([failed.status, failed.body['code']]).toEqual([status, code]);
      expect(JSON.stringify(failed.body)).not.toContain('as the test wants it');
      expect(await seller.received()).toBe(before);
      // An error does not release the charge.
      expect(await spent(agent)).toBe('1');
      privy.heal();
      expect((await pay(agent, 'the-one')).body['status']).toBe('paid');
      expect((await seller.received()) - before).toBe(1);
      expect(await spent(agent)).toBe('1');
    },
  );

  it.each<readonly [string, Fault]>([
    ['one 500', { kind: 'status', status: 500 }],
    ['429 with a time to wait', { kind: 'status', status: 429, headers: { 'retry-after': '1' } }],
    ['a slow answer', { kind: 'slow' }],
  ])('gets over %s by itself', async (_, fault) => {
    const { agent } = await wallets.fundedWallet();
    privy.fail('sign_typed_data', fault);
    expect((await pay(agent, 'over')).body['status']).toBe('paid');
  });

  it('says how long to wait when Privy asks for more than is waited here', async () => {
    const { agent } = await wallets.fundedWallet();
    const headers = { 'retry-after': '77' };
    privy.fail('sign_typed_data', { kind: 'status', status: 429, headers });
    const answer = await pay(agent, 'later');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '77']);
  });

  it.each<readonly [string, Fault]>([
    ['was lost', { kind: 'silent_after' }],
    ['was cut off', { kind: 'drop_after' }],
    ['was garbage', { kind: 'garbage' }],
  ])('is made once though the answer to its making %s', async (_, fault) => {
    const owner = newAccount();
    const before = privy.wallets.size;
    privy.fail('create_wallet', fault);
    // A sign-in makes no wallet, its first use does.
    const token = await wallets.signIn(owner);
    expect(privy.wallets.size - before).toBe(0);
    const first = await wallets.send('GET', '/v1/wallets/me', token);
    expect([first.status, first.body['code']]).toEqual([502, 'outcome_unknown']);
    expect((await wallets.send('GET', '/v1/wallets/me', token)).status).toBe(200);
    expect(privy.wallets.size - before).toBe(1);
  });

  it('takes the wallet that is there when the name is taken, whoever made it', async () => {
    const owner = newAccount();
    const before = privy.wallets.size;
    // Made, and its answer lost twice: once by the network, once by what Privy says of it.
    privy.fail('create_wallet', { kind: 'drop_after' });
    const token = await wallets.signIn(owner);
    await wallets.send('GET', '/v1/wallets/me', token);
    privy.hideOnce();
    privy.fail('create_wallet', { kind: 'status', status: 409 });
    expect((await wallets.send('GET', '/v1/wallets/me', token)).status).toBe(200);
    expect(privy.wallets.size - before).toBe(1);
  });

  it('shows in health and metrics that Privy is away, and that it is back', async () => {
    const { agent } = await wallets.fundedWallet();
    const provider = async () => {
      const { details } = (await (await fetch(`${wallets.opsUrl}/health`)).json()) as {
        details: Record<string, unknown>;
      };
      return details['wallet_provider'];
    };
    expect(await provider()).toEqual({ status: 'up', kind: 'privy' });
    privy.fail('sign_typed_data', { kind: 'silent_before', times: 99 });
    await pay(agent, 'away');
    expect(await provider()).toEqual({
      status: 'down',
      kind: 'privy',
      code: 'provider_unreachable',
    });
    const metrics = await (await fetch(`${wallets.opsUrl}/metrics`)).text();
    expect(metrics).toContain('x402_wallet_provider_up 0');
    expect(metrics).toMatch(
      /x402_wallet_provider_request_duration_seconds_count\{operation="sign_typed_data",outcome="timeout"\} \d/,
    );
    expect((await fetch(`${wallets.url}/health/ready`)).status).toBe(200);
    privy.heal();
    await pay(agent, 'away');
    expect(await provider()).toEqual({ status: 'up', kind: 'privy' });
  });

  it('writes no credential of Privy into its log', () => {
    const log = wallets.service.log();
    expect(log).not.toContain(privy.appSecret);
    expect(log).not.toContain(privy.authorizationKey.slice(0, 60));
  });
});

describe('Privy that is not what it was', () => {
  let privy: PrivyFixture;
  let wallets: WalletWorld;

  beforeEach(async () => {
    privy = await PrivyFixture.start();
    wallets = await WalletWorld.start({ ...privy.settings, ROLES: 'wallet' });
  });
  afterEach(async () => {
    await wallets.stop();
    privy.stop();
  });

  it('is not believed when it gives an owner another wallet than before', async () => {
    const { agent } = await wallets.fundedWallet();
    await wallets.service.stop('SIGTERM');
    const [name = ''] = [...privy.wallets.values()].map(({ view }) => view.external_id);
    privy.forget();
    await wallets.restart();
    const headers = { authorization: `Bearer ${agent}` };
    expect((await fetch(`${wallets.url}/v1/wallets/me`, { headers })).status).toBe(423);
    expect(privy.wallets.size).toBe(0);
    // One that is there under the owner's name, but is not the owner's.
    privy.plant(name);
    const policy = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    expect([policy.status, policy.body['code']]).toEqual([423, 'wallet_locked']);
    const paid = await post(
      `${wallets.url}/v1/wallets/me/payments/quote`,
      { url: 'http://127.0.0.1:9/' },
      headers,
    );
    expect(paid.body['code']).toBe('wallet_locked');
  });

  it('does not start on credentials that are refused, and names the settings', async () => {
    await wallets.service.stop('SIGTERM');
    privy.appSecret = 'another';
    const refused = wallets.another();
    await expect(refused).rejects.toThrow(/^WALLET_PRIVY_APP_ID, WALLET_PRIVY_APP_SECRET: /m);
    await expect(refused).rejects.not.toThrow(/^ +at /m);
  });

  it('starts though Privy is away, and pays when it is back', async () => {
    await wallets.service.stop('SIGTERM');
    privy.fail('find_wallet', { kind: 'status', status: 503, times: 3 });
    await wallets.restart();
    const token = await wallets.signIn(newAccount());
    expect((await wallets.send('GET', '/v1/wallets/me', token)).status).toBe(200);
  });
});

describe('messages and transactions by Privy, on the test network of BNB', () => {
  let privy: PrivyFixture;
  let wallets: WalletWorld;
  const caip2 = 'eip155:97';

  beforeAll(async () => {
    privy = await PrivyFixture.start();
    const extra = { WALLET_PRIVY_METHODS: 'personal_sign,eth_signTransaction' };
    wallets = await WalletWorld.start({ ...privy.settings, ...extra, ROLES: 'wallet' }, 97);
  });
  afterAll(async () => {
    await wallets.stop();
    privy.stop();
  });
  afterEach(() => {
    privy.heal();
  });

  const call = (agent: string, method: string, params: unknown, key?: string) =>
    wallets.post('/v1/wallets/me/rpc', { method, params, caip2 }, agent, key);

  async function opened(): Promise<{ agent: string; address: `0x${string}` }> {
    const { agent, ownerToken, address } = await wallets.fundedWallet();
    const [limit] = wallets.rules()['limits'] as object[];
    const native = `${caip2}/0x${'0'.repeat(40)}`;
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, {
      limits: [limit, { asset: native, perPayment: '5', budget: '10' }],
      scopes: ['personal_sign', 'send_transaction'],
    });
    await wallets.world.client.setBalance({ address, value: ONE });
    return { agent, address };
  }

  it('signs a message, a text that looks like hex too', async () => {
    const { agent, address } = await opened();
    for (const message of ['hello', '0xabc']) {
      const { body } = await call(agent, 'personal_sign', { message });
      const { signature } = (body as { data: { signature: `0x${string}` } }).data;
      expect(await recoverMessageAddress({ message, signature })).toBe(address);
    }
  });

  it('sends one transaction for one idempotency key, asked for 20 times at once', async () => {
    const { agent, address } = await opened();
    const before = privy.asked('sign_transaction');
    const transaction = { to: newAccount().address, value: '0x2' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        call(agent, 'eth_sendTransaction', { transaction }, 'twenty'),
      ),
    );
    const replies = answers.map(({ body }) => JSON.stringify(body));
    expect(new Set(replies).size).toBe(1);
    expect(answers[0]?.body).toMatchObject({ method: 'eth_sendTransaction', data: { caip2 } });
    expect(privy.asked('sign_transaction') - before).toBe(1);
    const { world } = wallets;
    await eventually('the transaction is mined', async () => {
      return (await world.client.getTransactionCount({ address })) === 1;
    });
    expect(await world.client.getBalance({ address: transaction.to })).toBe(2n);
    const other = await call(
      agent,
      'eth_sendTransaction',
      { transaction: { ...transaction, value: '0x3' } },
      'twenty',
    );
    expect(other.status).toBe(409);
  });

  it.each<readonly [string, Fault]>([
    ['was lost', { kind: 'silent_after', times: 3 }],
    ['was signed by another key', { kind: 'wrong_signature', times: 1 }],
  ])('sends it once though the first signature %s', async (_, fault) => {
    const { agent, address } = await opened();
    const transaction = { to: newAccount().address, value: '0x2' };
    const key = `again-${fault.kind}`;
    privy.fail('sign_transaction', fault);
    const first = await call(agent, 'eth_sendTransaction', { transaction }, key);
    expect(first.body['code']).toBe('outcome_unknown');
    privy.heal();
    const second = await call(agent, 'eth_sendTransaction', { transaction }, key);
    expect(second.status).toBe(200);
    const { client } = wallets.world;
    await eventually('the transaction is mined', async () => {
      return (await client.getTransactionCount({ address })) === 1;
    });
    expect(await client.getBalance({ address: transaction.to })).toBe(2n);
  });
});
