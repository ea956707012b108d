import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import { type Hex, numberToHex } from 'viem';
import { sandboxClient, sendNow } from '../../sandbox/deploy.js';
import type { Service } from '../../sandbox/service.js';
import { AUTHORIZATION_USED_TOPIC, TRANSFER_TOPIC } from '../../src/protocol/evm/logs.js';
import { RpcProxy } from '../chaos/rpc-proxy.js';
import { authorizationOf } from '../differential/cases.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import {
  type Body,
  eip3009Body,
  newAccount,
  type PaymentOptions,
  permit2Body,
  withSignedApproval,
} from '../support/payments.js';
import { presentationData, transferData } from '../support/token-calls.js';
import { World } from '../support/world.js';

const METHOD_NOT_FOUND = { error: { code: -32_601, message: 'method not found' } };
const NOT_AVAILABLE = { error: { code: -32_000, message: 'not available' } };
const GWEI = 10n ** 9n;
const NOWHERE: Hex = `0x${'77'.repeat(32)}`;

/** The chain mines when a test says so; one of its nodes does not tell the truth. */
describe('a node that lies', () => {
  let world: World;
  let database = 0;
  const undo: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    world = await World.start();
    await world.client.setAutomine(false);
  });
  beforeEach(() => world.client.mine({ blocks: 3 }));
  afterEach(async () => {
    for (const stop of undo.splice(0).reverse()) await stop();
    // Transactions left in the pool by one test must not reach the next.
    await world.client.mine({ blocks: 3 });
  });
  afterAll(() => world.stop());

  const mine = (blocks = 1): Promise<void> => world.client.mine({ blocks });
  const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  async function aProxy(): Promise<RpcProxy> {
    const proxy = await RpcProxy.start(world.anvil.url, world.anvil.url);
    undo.push(() => proxy.stop());
    return proxy;
  }

  /** A service with a ledger of its own; its first endpoint is the one that will lie. */
  async function aService(
    proxies: readonly RpcProxy[],
    more: Readonly<Record<string, string>> = {},
  ): Promise<Service> {
    database += 1;
    const service = await world.service({
      REDIS_URL: `${world.redis.url}/${database}`,
      [`RPC_URLS_${world.chainId}`]: proxies.map(({ url }) => url).join(','),
      SETTLE_WAIT_MS: '6000',
      ...more,
    });
    undo.push(() => service.stop());
    return service;
  }

  async function liarAndWitness(
    more?: Readonly<Record<string, string>>,
  ): Promise<{ liar: RpcProxy; witness: RpcProxy; service: Service }> {
    const [liar, witness] = [await aProxy(), await aProxy()];
    return { liar, witness, service: await aService([liar, witness], more) };
  }

  async function aBody(more: Partial<PaymentOptions> = {}): Promise<Body> {
    const payer = more.payer ?? (await world.payer());
    const payTo = newAccount().address;
    return eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo, ...more });
  }

  const isInPool = () =>
    eventually('in the pool', async () => (await world.client.getTxpoolStatus()).pending >= 1);

  const settleAt = (service: Service, body: Body): Promise<Answer> =>
    post(`${service.url}/v2/settle`, body);

  async function copyFirst(body: Body): Promise<Hex> {
    const hash = await sandboxClient(world.anvil.url).sendTransaction({
      chain: null,
      to: world.usd,
      data: presentationData(body),
      gas: 300_000n,
      gasPrice: 10n ** 12n,
    });
    await mine();
    return hash;
  }

  it('has no logs: a payment that was copied and mined first is paid all the same', async () => {
    const node = await aProxy();
    node.lie = ({ method }) => (method === 'eth_getLogs' ? METHOD_NOT_FOUND : undefined);
    const service = await aService([node]);
    const body = await aBody();
    const settling = settleAt(service, body);
    await isInPool();
    const hash = await copyFirst(body);
    await mine(3);
    expect((await settling).body).toMatchObject({ success: true, transaction: hash });
  });

  deep(
    'has neither logs nor receipts nor blocks: the copied payment stays pending until it has',
    async () => {
      const node = await aProxy();
      node.lie = ({ method, params }) => {
        if (method === 'eth_getLogs' || method === 'eth_getBlockReceipts') return METHOD_NOT_FOUND;
        const isWholeBlock = method === 'eth_getBlockByNumber' && params[1] === true;
        return isWholeBlock ? NOT_AVAILABLE : undefined;
      };
      const service = await aService([node]);
      const body = await aBody();
      const settling = settleAt(service, body);
      await isInPool();
      const hash = await copyFirst(body);
      await mine(3);
      const answer = await settling;
      expect(answer.body).toMatchObject({ success: false, errorReason: 'settlement_pending' });
      node.lie = undefined;
      const id = answer.headers.get('settlement-id') ?? '';
      await eventually('it is known to be paid', async () => {
        const { body: status } = await get(`${service.url}/v2/settlements/${id}`);
        return status['paid'] === true && status['transaction'] === hash;
      });
    },
  );

  deep(
    'is two blocks behind: what was presented elsewhere a block ago is neither valid nor settled',
    async () => {
      const { liar: first, service } = await liarAndWitness();
      const body = await aBody();
      await mine(3);
      await sendNow(sandboxClient(world.anvil.url), {
        to: world.usd,
        data: presentationData(body),
      });
      first.fault = { kind: 'lags', blocks: 2 };
      const verified = await post(`${service.url}/v2/verify`, body);
      expect(verified.body).toMatchObject({
        isValid: false,
        invalidReason: 'invalid_exact_evm_nonce_already_used',
      });
      const settled = await settleAt(service, body);
      expect(settled.body).toMatchObject({
        success: false,
        errorReason: 'invalid_exact_evm_nonce_already_used',
      });
      expect((await world.client.getTxpoolStatus()).pending).toBe(0);
    },
  );

  it('says that a reverted transaction succeeded: nobody is told so, and the truth comes in the end', async () => {
    const { liar, service } = await liarAndWitness({ SETTLE_WAIT_MS: '3000' });
    const payer = await world.payer({ balance: 1000n });
    const body = await aBody({ payer, amount: 1000n });
    const { to, value, nonce } = authorizationOf(body) as Record<string, Hex>;
    const word = (hex: string | bigint): Hex =>
      numberToHex(typeof hex === 'bigint' ? hex : BigInt(hex), { size: 32 });
    liar.lie = ({ method }, truth) => {
      if (method !== 'eth_getTransactionReceipt' || truth === null) return undefined;
      const topics = [
        [AUTHORIZATION_USED_TOPIC, word(payer.address), nonce],
        [TRANSFER_TOPIC, word(payer.address), word(to ?? '0x')],
      ];
      const logs = topics.map((own, logIndex) => ({
        address: world.usd,
        topics: own,
        data: word(BigInt(value ?? 0)),
        logIndex: numberToHex(logIndex),
      }));
      return { result: { ...(truth as object), status: '0x1', logs } };
    };
    const settling = settleAt(service, body);
    await isInPool();
    await spendFirst(payer, 1000n);
    await mine(4);
    const answer = await settling;
    expect(answer.body).toMatchObject({ success: false, errorReason: 'settlement_pending' });
    expect(service.log()).toContain('RPC endpoints disagree');
    liar.lie = undefined;
    const id = answer.headers.get('settlement-id') ?? '';
    await eventually('the failure is told', async () => {
      await mine();
      const { body: status } = await get(`${service.url}/v2/settlements/${id}`);
      return status['state'] === 'reverted' && status['paid'] === false;
    });
  });

  /** The payer moves its balance away, one transaction ahead. */
  async function spendFirst(payer: { address: Hex }, amount: bigint): Promise<void> {
    await world.client.impersonateAccount({ address: payer.address });
    await world.client.setBalance({ address: payer.address, value: 10n ** 18n });
    await world.client.sendUnsignedTransaction({
      from: payer.address,
      to: world.usd,
      gasPrice: 10n ** 12n,
      data: transferData(newAccount().address, amount),
    });
  }

  deep.each([1, 2])(
    'names a final block that does not exist, of %i nodes: nothing is final by it, and it is forgotten',
    async (count) => {
      const liar = await aProxy();
      const service = await aService(count === 1 ? [liar] : [liar, await aProxy()]);
      liar.lie = ({ method, params }, truth) =>
        method === 'eth_getBlockByNumber' && params[0] === 'finalized'
          ? { result: { ...(truth as object), number: '0x3b9aca00', hash: NOWHERE } }
          : undefined;
      const settling = settleAt(service, await aBody());
      await isInPool();
      await mine();
      const answer = await settling;
      expect(answer.body).toMatchObject({ success: true });
      const id = answer.headers.get('settlement-id') ?? '';
      const finality = async (): Promise<unknown> =>
        (await get(`${service.url}/v2/settlements/${id}`)).body['finality'];
      expect(await finality()).toBe('included');
      liar.lie = undefined;
      await mine(3);
      await eventually('it is final', async () => (await finality()) === 'finalized');

      // A failure is answered as before.
      const payer = await world.payer({ balance: 1000n });
      const failing = settleAt(service, await aBody({ payer, amount: 1000n }));
      await isInPool();
      await spendFirst(payer, 1000n);
      await mine(3);
      expect((await failing).body).toMatchObject({
        success: false,
        errorReason: 'invalid_exact_evm_insufficient_balance',
      });
    },
  );

  deep(
    'counts more transactions of the signer than there are while the lane opens: it opens when that ends',
    async () => {
      const [liar, witness] = [await aProxy(), await aProxy()];
      liar.lie = ({ method }, truth) =>
        method === 'eth_getTransactionCount'
          ? { result: numberToHex(Number(truth) + 5) }
          : undefined;
      const service = await aService([liar, witness]);
      await rest(1500);
      liar.lie = undefined;
      const settling = settleAt(service, await aBody());
      await isInPool();
      await mine();
      expect((await settling).body).toMatchObject({ success: true });
    },
  );

  deep('names a least tip above the cap: the lane goes on through the other one', async () => {
    const { liar, service } = await liarAndWitness();
    liar.lie = ({ method }) =>
      method === 'eth_sendRawTransaction'
        ? {
            error: {
              code: -32_000,
              message: 'transaction underpriced: gas tip cap 1, minimum needed 900 gwei',
            },
          }
        : undefined;
    for (let payments = 0; payments < 2; payments += 1) {
      const settling = settleAt(service, await aBody());
      await isInPool();
      await mine();
      expect((await settling).body).toMatchObject({ success: true });
    }
  });

  deep.each([
    ['is asked about again where there is one more', 2, { invalidReason: 'network_unavailable' }],
    ['is believed by nobody where two say otherwise', 3, { isValid: true }],
  ])(
    'counts more transactions of a payer than there are: the approval it brings %s',
    async (_, count, expected) => {
      const proxies = await Promise.all(Array.from({ length: count }, () => aProxy()));
      const service = await aService(proxies, { [`APPROVAL_SPONSORING_${world.chainId}`]: '1' });
      const payer = await world.payer();
      const { chainId, coin: token } = world;
      const options = { payer, chainId, token, payTo: newAccount().address };
      const price = { gas: 70_000n, maxFeePerGas: GWEI, maxPriorityFeePerGas: GWEI };
      const body = await withSignedApproval(await permit2Body(options), options, price);
      const verified = async (): Promise<unknown> =>
        (await post(`${service.url}/v2/verify`, body)).body;
      expect(await verified()).toMatchObject({ isValid: true });
      const [liar] = proxies;
      if (liar === undefined) throw new Error('a node');
      liar.lie = ({ method, params }, truth) =>
        method === 'eth_getTransactionCount' &&
        String(params[0]).toLowerCase() === payer.address.toLowerCase()
          ? { result: numberToHex(Number(truth) + 3) }
          : undefined;
      expect(await verified()).toMatchObject(expected);
      liar.lie = undefined;
      expect(await verified()).toMatchObject({ isValid: true });
    },
  );

  deep('throws nobody out by a head that does not exist', async () => {
    const { liar, service } = await liarAndWitness();
    liar.lie = ({ method, params }, truth) => {
      if (method === 'eth_blockNumber') return { result: '0x3b9aca00' };
      const isHead = method === 'eth_getBlockByNumber' && params[0] === 'latest';
      return isHead ? { result: { ...(truth as object), number: '0x3b9aca00' } } : undefined;
    };
    await rest(500);
    liar.lie = undefined;
    const body = await aBody();
    const settling = settleAt(service, body);
    await isInPool();
    const hash = await copyFirst(body);
    await mine(3);
    expect((await settling).body).toMatchObject({ success: true, transaction: hash });
  });
});
