import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { freePort } from '../../sandbox/processes.js';
import { eventually, post } from '../support/http.js';
import { HUB_ADDRESS } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { strictHeaders } from '../support/strict-signature.js';
import { uploadLinkOf } from '../support/upload-link.js';
import { CuttingProxy } from './cutting-proxy.js';
import { type McpAgent, mcpAgent } from './mcp-agents.js';
import { WalletWorld } from './wallet-world.js';

const PRICE = 10n ** 17n;
const FILE = randomBytes(3_000_000);
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

type Facts = Readonly<Record<string, unknown>>;

describe('what an agent buys into its files', () => {
  let wallets: WalletWorld;
  let proxy: CuttingProxy;
  let hubUrl: string;
  const seller = newAccount();
  const agents: McpAgent[] = [];

  beforeAll(async () => {
    const port = await freePort();
    hubUrl = `http://127.0.0.1:${port}`;
    wallets = await WalletWorld.start(
      {
        ROLES: 'api,worker,wallet,hub',
        HUB_MODE: 'private',
        HUB_ADDRESS,
        HUB_STORAGE: 'memory',
        RATE_LIMIT_HUB: '0',
        HUB_SALES: 'true',
        HUB_SALES_SECRET: 'a secret of at least thirty-two characters',
        HUB_PUBLIC_URL: `${hubUrl}/api`,
        WALLET_HUB_URL: hubUrl,
        WALLET_SAVE_MAX_BYTES: '4000000',
      },
      undefined,
      port,
    );
    proxy = await CuttingProxy.before(hubUrl);
  });
  afterAll(async () => {
    for (const agent of agents) await agent.close();
    proxy.close();
    await wallets.stop();
  });

  /** Stores a file of the seller, with a price. @returns where it is bought. */
  async function sell(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    const link = await uploadLinkOf(seller, name, { maxBytes: bytes.length });
    const put = await fetch(`${hubUrl}/api/incoming?link=${link}`, { method: 'PUT', body: bytes });
    expect(put.status).toBe(200);
    const body = JSON.stringify({
      file: name,
      network: `eip155:${wallets.world.chainId}`,
      asset: wallets.world.usd,
      amount: `${PRICE}`,
      accessSeconds: 3600,
      contentType: 'application/zip',
      extra: { name: USD_NAME, version: USD_VERSION },
    });
    const path = '/api/price';
    const headers = await strictHeaders(seller, { method: 'PUT', path, body, hub: HUB_ADDRESS });
    const priced = await fetch(`${hubUrl}${path}`, {
      method: 'PUT',
      body,
      headers: { ...headers },
    });
    expect(priced.status).toBe(200);
    const query = new URLSearchParams({ owner: seller.address, name });
    return `${proxy.url}/api/download?${query.toString()}`;
  }

  const buyer = async (): Promise<{ readonly agent: McpAgent; readonly token: string }> => {
    const { agent: token } = await wallets.fundedWallet();
    const agent = await mcpAgent('2026-07-28', 'HTTP', wallets.url, token);
    agents.push(agent);
    return { agent, token };
  };
  const earned = (): Promise<bigint> => wallets.world.balance(wallets.world.usd, seller.address);
  const purchase = (url: string, intentId: string, more: object = {}): Record<string, unknown> => ({
    url,
    maxAmount: '0.1',
    intentId,
    saveTo: 'hub',
    ...more,
  });
  /** The file of a name, by a link that the wallet makes. */
  async function shared(agent: McpAgent, name: string): Promise<string> {
    const { data } = await agent.call('hub_share', { name });
    return sha256Of(new Uint8Array(await (await fetch(String(data['url']))).arrayBuffer()));
  }

  it('comes whole over a connection that is cut three times, and is paid once', async () => {
    const { agent } = await buyer();
    const url = await sell('film.zip', new Uint8Array(FILE));
    const before = await earned();
    proxy.cuts = 3;
    proxy.passed.length = 0;
    const bought = purchase(url, 'film', { saveAs: 'my film.zip' });
    const { data, isError } = await agent.call('payment_pay', bought);
    const saved = { name: 'my film.zip', size: FILE.length, sha256: sha256Of(FILE) };
    expect([isError, data]).toEqual([false, expect.objectContaining({ status: 'paid', saved })]);
    expect(data).not.toHaveProperty('body');
    expect(data['transaction']).toMatch(/^0x[0-9a-f]{64}$/);
    // Offer, purchase, and a part after each cut, for which nothing is shown but the access.
    expect(proxy.passed.map(({ status }) => status)).toEqual([402, 200, 206, 206, 206]);
    expect(proxy.passed.map(({ isPaying }) => isPaying)).toEqual([
      false,
      true,
      false,
      false,
      false,
    ]);
    expect(await shared(agent, 'my film.zip')).toBe(sha256Of(FILE));

    const again = await agent.call('payment_pay', bought);
    expect(again.data).toEqual(data);
    expect(proxy.passed).toHaveLength(5);
    expect((await agent.call('payment_status', { intentId: 'film' })).data).toEqual(data);
    expect((await earned()) - before).toBe(PRICE);
    const other = await agent.call('payment_pay', purchase(url, 'film', { saveAs: 'other' }));
    expect((other.data['refusal'] as Facts)['code']).toBe('conflict');
  });

  it('goes on without paying again after its process was killed in the middle', async () => {
    const { agent, token } = await buyer();
    const url = await sell('long.zip', new Uint8Array(FILE));
    const before = await earned();
    const doomed = await wallets.another({ ROLES: 'wallet' });
    proxy.isStalling = true;
    proxy.passed.length = 0;
    const body = purchase(url, 'long');
    const bearer = { authorization: `Bearer ${token}` };
    const asking = post(`${doomed.url}/v1/wallets/me/payments`, body, bearer).catch(
      () => undefined,
    );
    const status = async (): Promise<unknown> =>
      (await agent.call('payment_status', { intentId: 'long' })).data['status'];
    await eventually('the payment', async () => (await status()) === 'paid_not_saved');
    await doomed.stop('SIGKILL');
    await asking;
    proxy.isStalling = false;

    const { data } = await agent.call('payment_pay', body);
    expect(data).toMatchObject({
      status: 'paid',
      saved: { name: 'download', size: FILE.length, sha256: sha256Of(FILE) },
    });
    expect((await earned()) - before).toBe(PRICE);
    expect(proxy.passed.filter(({ isPaying }) => isPaying)).toHaveLength(1);
    expect(await shared(agent, 'download')).toBe(sha256Of(FILE));
  });

  it('is not paid for where it is larger than is saved, or cannot be saved at all', async () => {
    const { agent } = await buyer();
    const url = await sell('huge.zip', new Uint8Array(4_000_001));
    const before = await earned();
    for (const [more, code, why] of [
      [{}, 'invalid_request', /4000001 bytes/],
      [{ method: 'POST' }, 'invalid_request', /GET/],
      [{ headers: { Range: 'bytes=0-9' } }, 'invalid_request', /whole file/],
    ] as const) {
      const { data } = await agent.call('payment_pay', purchase(url, 'huge', more));
      expect(data['refusal']).toEqual({ code, error: expect.stringMatching(why) });
    }
    const bare = await wallets.another({ ROLES: 'wallet', WALLET_HUB_URL: '' });
    const other = await wallets.agentOf(newAccount());
    const { status, body } = await post(`${bare.url}/v1/wallets/me/payments`, purchase(url, 'x'), {
      authorization: `Bearer ${other}`,
    });
    expect([status, body['code']]).toEqual([404, 'not_found']);
    await bare.stop('SIGTERM');
    expect(await earned()).toBe(before);
  });

  it('is saved where it costs nothing, and answered with its error where there is none', async () => {
    const { agent } = await buyer();
    await agent.call('hub_put', { name: 'free.txt', content: 'free for all' });
    const link = await agent.call('hub_share', { name: 'free.txt' });
    const { data } = await agent.call('payment_pay', {
      url: String(link.data['url']),
      maxAmount: '0',
      intentId: 'free',
      saveTo: 'hub',
      saveAs: 'copy.txt',
    });
    const saved = { name: 'copy.txt', size: 12, sha256: sha256Of(Buffer.from('free for all')) };
    expect(data).toMatchObject({ status: 'free', saved });
    const missing = purchase(`${hubUrl}/api/shared?link=x`, 'missing');
    const failed = await agent.call('payment_pay', missing);
    expect(failed.data).toMatchObject({ status: 'free', httpStatus: 400 });
    expect(failed.data).not.toHaveProperty('saved');
  });
});
