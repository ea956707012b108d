import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Address, encodeFunctionData, type Hex, parseSignature } from 'viem';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { SET_RULES, SPENT } from '../../src/wallet/budget/budget-scripts.js';
import { eventually } from '../support/http.js';
import { newAccount, nowSeconds, TRANSFER_TYPES } from '../support/payments.js';
import { RedisTripwire } from './tripwire.js';
import { WalletWorld } from './wallet-world.js';

const ONE = 10n ** 18n;

interface Authorization {
  readonly from: Address;
  readonly to: Address;
  readonly value: string;
  readonly validAfter: string;
  readonly validBefore: string;
  readonly nonce: Hex;
}

interface Shown {
  readonly signature: Hex;
  readonly authorization: Authorization;
}

/** A seller that keeps every payment it is shown, and has none settled. */
class KeepingSeller {
  readonly shown: Shown[] = [];
  readonly payTo = newAccount().address;
  maxTimeoutSeconds = 2;
  extra: Record<string, unknown> = {};

  private constructor(private readonly server: Server) {}

  static async start(wallets: WalletWorld): Promise<KeepingSeller> {
    const { usd, chainId } = wallets.world;
    const server = createServer((request, response) => {
      const header = request.headers['payment-signature'];
      if (typeof header === 'string') {
        const sent = JSON.parse(Buffer.from(header, 'base64').toString()) as { payload: Shown };
        seller.shown.push(sent.payload);
        response.writeHead(500).end('kept');
        return;
      }
      const accepts = [
        {
          scheme: 'exact',
          network: `eip155:${chainId}`,
          asset: usd,
          payTo: seller.payTo,
          amount: `${ONE}`,
          maxTimeoutSeconds: seller.maxTimeoutSeconds,
          extra: { name: USD_NAME, version: USD_VERSION, ...seller.extra },
        },
      ];
      const required = { x402Version: 2, accepts, resource: { url: 'http://kept.example' } };
      const value = Buffer.from(JSON.stringify(required)).toString('base64');
      response.writeHead(402, { 'payment-required': value }).end('{}');
    });
    const seller: KeepingSeller = new KeepingSeller(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return seller;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/goods`;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

describe('somebody who attacks the wallet', () => {
  let wallets: WalletWorld;
  let seller: KeepingSeller;

  beforeAll(async () => {
    wallets = await WalletWorld.start();
    seller = await KeepingSeller.start(wallets);
  });
  afterAll(async () => {
    seller.stop();
    await wallets.stop();
  });

  const pay = (agent: string, intentId: string) =>
    wallets.post('/v1/wallets/me/payments', { url: seller.url, maxAmount: '1', intentId }, agent);
  const statusOf = async (agent: string, intentId: string): Promise<unknown> =>
    (await wallets.send('GET', `/v1/wallets/me/payments/${intentId}`, agent)).body['status'];
  const spentBy = async (agent: string): Promise<number> => {
    const { body } = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    const [limit] = (body as { limits: { spent: { decimal: string } }[] }).limits;
    return Number(limit?.spent.decimal);
  };
  const sign = (agent: string, message: Authorization) =>
    wallets.post(
      '/v1/wallets/me/rpc',
      {
        method: 'eth_signTypedData_v4',
        params: {
          typed_data: {
            domain: {
              name: USD_NAME,
              version: USD_VERSION,
              chainId: wallets.world.chainId,
              verifyingContract: wallets.world.usd,
            },
            types: TRANSFER_TYPES,
            primaryType: 'TransferWithAuthorization',
            message,
          },
        },
      },
      agent,
    );
  /** Anybody who has a signature can have it executed. */
  const execute = async (
    { from, to, value, validAfter, validBefore, nonce }: Authorization,
    signature: Hex,
  ): Promise<void> => {
    const { client, usd } = wallets.world;
    const { v = 27n, r, s } = parseSignature(signature);
    const data = encodeFunctionData({
      abi: [
        {
          type: 'function',
          name: 'transferWithAuthorization',
          stateMutability: 'nonpayable',
          inputs: [
            ...['from', 'to'].map((name) => ({ name, type: 'address' })),
            ...['value', 'validAfter', 'validBefore'].map((name) => ({ name, type: 'uint256' })),
            { name: 'nonce', type: 'bytes32' },
            { name: 'v', type: 'uint8' },
            ...['r', 's'].map((name) => ({ name, type: 'bytes32' })),
          ],
          outputs: [],
        },
      ],
      args: [
        from,
        to,
        BigInt(value),
        BigInt(validAfter),
        BigInt(validBefore),
        nonce,
        Number(v),
        r,
        s,
      ],
    });
    const sender = newAccount().address;
    await client.setBalance({ address: sender, value: ONE });
    await client.impersonateAccount({ address: sender });
    await client.sendUnsignedTransaction({ from: sender, to: usd, data });
  };

  it('signs a nonce anew after its purchase expired unpaid, and asks for the old purchase', async () => {
    const { agent, address } = await wallets.fundedWallet();
    await pay(agent, 'expires');
    const [first] = seller.shown.slice(-1);
    if (first === undefined) throw new Error('the seller was shown no payment');
    await eventually(
      'the charge to be released',
      async () => (await statusOf(agent, 'expires')) === 'not_paid',
      20_000,
    );
    expect(await spentBy(agent)).toBe(0);

    const again = { ...first.authorization, validBefore: `${nowSeconds() + 300}` };
    const signed = await sign(agent, again);
    await statusOf(agent, 'expires');
    const { data } = signed.body as { data?: { signature: Hex } };
    if (data !== undefined) await execute(again, data.signature);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const moved = 10n ** 24n - (await wallets.world.balance(wallets.world.usd, address));
    // Whatever was signed, the chain has not moved more than was counted.
    expect(Number(moved / ONE)).toBeLessThanOrEqual(await spentBy(agent));
    expect(signed.body['rule']).toBe('nonce_reused');
    // Nor does a rebuild from the journal forget what was signed.
    await wallets.flush();
    expect(Number(moved / ONE)).toBeLessThanOrEqual(await spentBy(agent));
    expect((await sign(agent, again)).body['rule']).toBe('nonce_reused');
  });

  it('has one payee list, and asks for the rules while Redis stands still', async () => {
    const { agent, ownerToken } = await wallets.fundedWallet();
    const { limits } = wallets.rules() as { limits: unknown[] };
    const payeeLists = [{ name: 'one', payees: [seller.payTo], limits }];
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, { limits, payeeLists });
    const wire = await RedisTripwire.start(wallets.world.redis.port);
    const other = await wallets.another({ REDIS_URL: wire.url });
    const asked = () =>
      fetch(`${other.url}/v1/wallets/me/policy`, { headers: { authorization: `Bearer ${agent}` } });
    expect((await asked()).status).toBe(200);
    wire.set(SPENT.sha, 'before', () => undefined);
    expect((await asked()).status).toBe(503);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(other.child.exitCode).toBeNull();
    await other.stop('SIGKILL');
    wire.stop();
  });

  it('polls with a code that was approved before everybody was signed out', async () => {
    const owner = newAccount();
    const ownerToken = await wallets.signIn(owner);
    const { body } = await wallets.post('/v1/init', 'true');
    expect((await wallets.approve(String(body['user_code']), owner)).status).toBe(200);
    await wallets.post('/v1/logout/all', '', ownerToken);
    const status = await wallets.send('GET', `/v1/status?code=${String(body['code'])}`);
    expect([status.status, status.body['token']]).toEqual([404, undefined]);
    // The owner can let an agent in again.
    expect(await wallets.agentOf(owner)).toMatch(/^[\w-]+\./);
  });

  it('signs in with a message that was asked for before everybody was signed out', async () => {
    const owner = newAccount();
    const ownerToken = await wallets.signIn(owner);
    const login = await wallets.signedLogin(owner);
    // Messages of the very second of a sign-out may be from after it.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await wallets.post('/v1/logout/all', '', ownerToken);
    expect((await wallets.post('/v1/login', login)).status).toBe(401);
    expect(await wallets.signIn(owner)).toMatch(/^[\w-]+\./);
  });

  describe('with the keys of Redis', () => {
    let redis: Redis;
    beforeAll(() => {
      redis = new Redis(wallets.world.redis.url);
    });
    afterAll(() => {
      redis.disconnect();
    });

    const keyOfCode = (userCode: unknown): string => `x402:wl:c:${String(userCode)}`;
    const perPayment = async (agent: string): Promise<unknown> => {
      const { body } = await wallets.send('GET', '/v1/wallets/me/policy', agent);
      const [limit] = (body as { limits: { perPayment: { decimal: string } }[] }).limits;
      return limit?.perPayment.decimal;
    };
    const rulesOf = (whole: number) => {
      const asset = `eip155:${wallets.world.chainId}/${wallets.world.usd}`;
      const perOne = (BigInt(whole) * ONE).toString();
      return { limits: [{ asset, perPayment: perOne, budget: `${10n * ONE}` }] };
    };

    it('writes an approval of its own, or one that was of another code', async () => {
      const owner = newAccount();
      await wallets.signIn(owner);
      const [given, mine] = await Promise.all([1, 2].map(() => wallets.post('/v1/init', 'true')));
      await wallets.approve(String(given?.body['user_code']), owner);
      const approved = await redis.get(keyOfCode(given?.body['user_code']));
      const plain = JSON.stringify({
        v: 2,
        state: 'approved',
        owner: owner.address.toLowerCase(),
        epoch: 0,
        secret: createHash('sha256')
          .update(String(mine?.body['code']).split('.')[1] ?? '')
          .digest('base64url'),
      });
      for (const written of [plain, approved ?? '']) {
        await redis.set(keyOfCode(mine?.body['user_code']), written, 'EX', 600);
        const status = await wallets.send('GET', `/v1/status?code=${String(mine?.body['code'])}`);
        expect([status.status, status.body['token']]).toEqual([404, undefined]);
      }
    });

    it('lifts the limits of a wallet: by rules of its own, of another wallet, or from before', async () => {
      const [one, other] = [await wallets.fundedWallet(), await wallets.fundedWallet()];
      const put = (ownerToken: string, rules: unknown) =>
        wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, rules);
      const keyOf = ({ address }: { address: string }): string =>
        `x402:wl:w:${address.toLowerCase()}`;
      await put(one.ownerToken, rulesOf(9));
      const before = await redis.hmget(keyOf(one), 'rev', 'rules');
      await put(one.ownerToken, rulesOf(1));
      await put(other.ownerToken, rulesOf(9));
      await put(other.ownerToken, rulesOf(9));
      const theirs = await redis.hmget(keyOf(other), 'rev', 'rules');
      const plain = JSON.stringify({ v: 1, revision: 3, policy: rulesOf(9) });
      for (const [rev, rules] of [before, theirs, ['3', plain]]) {
        await redis.hset(keyOf(one), {
          rev: rev ?? '',
          rules: rules ?? '',
          policy: plain,
          force: '1',
        });
        expect(await perPayment(one.agent)).toBe('1');
      }
    });

    it('has another payment signed for an intent, or another reply given for a key', async () => {
      const [one, other] = [await wallets.fundedWallet(), await wallets.fundedWallet()];
      seller.maxTimeoutSeconds = 60;
      await pay(one.agent, 'mine');
      await pay(other.agent, 'mine');
      const keyOf = async ({ address }: { address: string }): Promise<string> =>
        (await redis.keys(`x402:wl:i:${address.toLowerCase()}:*`))[0] ?? '';
      await redis.set(await keyOf(one), (await redis.get(await keyOf(other))) ?? '');
      const shown = seller.shown.length;
      const answer = await pay(one.agent, 'mine');
      expect([answer.status, answer.body['code']]).toEqual([503, 'unavailable']);
      expect(seller.shown).toHaveLength(shown);
    });
  });

  it('reads what an agent bought in the journal, or has every retry written there', async () => {
    const { agent } = await wallets.fundedWallet();
    seller.maxTimeoutSeconds = 60;
    const buy = () =>
      wallets.post(
        '/v1/wallets/me/payments',
        { url: `${seller.url}?key=a-secret-of-the-agent`, maxAmount: '1', intentId: 'retried' },
        agent,
      );
    const journal = async (): Promise<string> => {
      const dir = join(wallets.dir, 'audit');
      const names = (await readdir(dir)).filter((name) => name.endsWith('.jsonl'));
      const texts = await Promise.all(names.map((name) => readFile(join(dir, name), 'utf8')));
      return texts.join('');
    };
    expect((await buy()).body['status']).toBe('pending');
    const first = await journal();
    for (let count = 0; count < 5; count += 1) await buy();
    const last = await journal();
    expect(first).not.toContain('a-secret-of-the-agent');
    expect(last.length - first.length).toBe(0);
  });
});

describe('rules that were journaled, but never in force', () => {
  it('do not start a stopped wallet again when Redis is lost', async () => {
    let wire: RedisTripwire | undefined;
    const wallets = await WalletWorld.start();
    try {
      wire = await RedisTripwire.start(wallets.world.redis.port);
      const { agent, ownerToken } = await wallets.fundedWallet();
      const other = await wallets.another({ REDIS_URL: wire.url });
      const isGone = new Promise((resolve) => other.child.once('exit', resolve));
      wire.set(SET_RULES.sha, 'before', () => {
        other.child.kill('SIGKILL');
      });
      const put = fetch(`${other.url}/v1/wallets/me/policy`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${ownerToken}` },
        body: JSON.stringify(wallets.rules({ windowHours: 77 })),
      });
      await expect(put).rejects.toThrow();
      await isGone;
      await eventually(
        'the wallet to be stopped',
        async () => (await wallets.post('/v1/wallets/me/stop', '', agent)).status === 200,
        30_000,
      );
      await wallets.flush();
      const { body } = await wallets.send('GET', '/v1/wallets/me/policy', agent);
      expect(body).toMatchObject({ active: false, windowHours: 24 });
    } finally {
      wire?.stop();
      await wallets.stop();
    }
  });
});
