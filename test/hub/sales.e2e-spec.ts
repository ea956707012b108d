import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { x402Client, x402HTTPClient } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch';
import { Redis } from 'ioredis';
import type { PrivateKeyAccount } from 'viem/accounts';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import type { Service } from '../../sandbox/service.js';
import { ApiDescription } from '../support/api-description.js';
import { type GivenHeaders, Hub, HUB_ADDRESS, type HubAnswer } from '../support/hub-world.js';
import { deep, it } from '../support/part.js';
import { type Json, newAccount } from '../support/payments.js';
import { strictHeaders } from '../support/strict-signature.js';
import { World } from '../support/world.js';

const AMOUNT = 1000n;
/** What payers begin with. */
const ENDOWMENT = 10n ** 24n;
const REPORT = 'a report that is worth its price';
const sha256 = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');

/** Buyers pay a hub by the stock client; the hub settles by the facilitator in its own process. */
describe.each(['public', 'private'])('files for sale in a %s hub', (mode) => {
  let world: World;
  let service: Service;
  let hub: Hub;
  let dir: string;
  const owner = newAccount();
  const settings = (): Record<string, string> => ({
    ROLES: 'api,worker,hub',
    HUB_MODE: mode,
    HUB_ADDRESS,
    HUB_DATA_DIR: dir,
    HUB_PUBLIC_URL: 'https://files.example/api',
    HUB_SALES: 'true',
    HUB_SALES_SECRET: 'a secret of at least thirty-two characters',
    RATE_LIMIT_HUB: '0',
  });

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'x402-sales-'));
    world = await World.start({ blockTime: 0.3 });
    service = await world.service(settings());
    hub = new Hub(service);
  });
  afterAll(async () => {
    await world.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  async function signed(
    account: PrivateKeyAccount,
    method: string,
    path: string,
    body = '',
  ): Promise<HubAnswer> {
    const headers = await strictHeaders(account, { method, path, body, hub: HUB_ADDRESS });
    return hub.ask(path, { method, headers, ...(body !== '' && { body }) });
  }

  async function store(id: string, message = REPORT): Promise<void> {
    const body = JSON.stringify({ owner: owner.address, id, message });
    expect((await signed(owner, 'POST', '/api/upload', body)).status).toBe(200);
  }

  const offer = (file: string, more: Json = {}): Json => ({
    file,
    network: `eip155:${world.chainId}`,
    asset: world.usd,
    amount: String(AMOUNT),
    accessSeconds: 3600,
    contentType: 'text/markdown',
    extra: { name: USD_NAME, version: USD_VERSION },
    ...more,
  });

  const price = (file: string, more?: Json, account = owner): Promise<HubAnswer> =>
    signed(account, 'PUT', '/api/price', JSON.stringify(offer(file, more)));

  const pathOf = (name: string): string =>
    `/api/download?${new URLSearchParams({ owner: owner.address, name }).toString()}`;
  const download = (name: string, headers: GivenHeaders = {}): Promise<HubAnswer> =>
    hub.get(pathOf(name), headers);

  const clientOf = (account: PrivateKeyAccount): x402Client =>
    new x402Client()
      .register('eip155:*', new ExactEvmScheme(account))
      .setSpendControls({ allowedAssets: true });

  /** What the stock client would send for this offer. */
  async function paymentFor(account: PrivateKeyAccount, name: string): Promise<GivenHeaders> {
    const { headers } = await download(name);
    const http = new x402HTTPClient(clientOf(account));
    const required = http.getPaymentRequiredResponse((header) => headers.get(header), {});
    return http.encodePaymentSignatureHeader(await http.createPaymentPayload(required));
  }

  const earned = (): Promise<bigint> => world.balance(world.usd, owner.address);

  async function sell(name: string, message = REPORT): Promise<void> {
    await store(name, message);
    expect((await price(name)).status).toBe(200);
  }

  it('has its price by the signature of its owner alone', async () => {
    await store('priced');
    const shown = { file: 'priced', amount: '1000', sha256: sha256(REPORT), size: REPORT.length };
    expect((await price('priced', {}, newAccount())).status).toBe(404);
    const unsigned = await hub.ask('/api/price', {
      method: 'PUT',
      body: JSON.stringify(offer('priced')),
    });
    expect(unsigned.status).toBe(401);
    for (const [more, problem] of [
      [{ amount: '-1' }, /^amount/],
      [{ amount: 1000 }, /^amount/],
      [{ network: 'bsc' }, /^network/],
      [{ asset: '0x' }, /^asset/],
      [{ payTo: 'me' }, /^payTo/],
      [{ accessSeconds: 1 }, /^accessSeconds/],
      [{ contentType: 'text/html\r\nX: y' }, /^contentType/],
      [{ file: '' }, /^file/],
    ] as const) {
      const { status, json } = await price('priced', more);
      expect([status, json]).toEqual([
        400,
        { Type: 'hub', Message: expect.stringMatching(problem) },
      ]);
    }
    expect((await price('nothing')).status).toBe(404);
    const set = await price('priced');
    expect([set.status, set.json]).toEqual([200, expect.objectContaining(shown)]);
    const path = `/api/price?${new URLSearchParams({ owner: owner.address, file: 'priced' }).toString()}`;
    expect((await hub.get(path)).json).toMatchObject({ ...shown, accessSeconds: 3600 });
    expect((await download('priced')).status).toBe(402);
    // The bucket is named after the owner where the upload names none.
    const bucket = owner.address.toLowerCase();
    const object = `/v1/buckets/${bucket}/objects/priced/content`;
    for (const from of [`${object}?owner=${bucket}`, ...(mode === 'public' ? [object] : [])]) {
      expect((await hub.get(from)).status).toBe(402);
    }
    expect(
      (await hub.get(`/v1/buckets/other/objects/priced/content?owner=${bucket}`)).text,
    ).not.toBe(REPORT);
    expect((await signed(owner, 'GET', object)).text).toBe(REPORT);
    expect((await signed(owner, 'DELETE', path)).status).toBe(200);
    expect((await hub.get(path)).status).toBe(404);
    expect((await download('priced')).status).toBe(mode === 'public' ? 200 : 401);
  });

  it('is bought by the stock client, and read again for nothing', async () => {
    await sell('report');
    const buyer = await world.payer({ balance: ENDOWMENT });
    const before = await earned();
    const description = new ApiDescription((await hub.get('/openapi.json')).json as Json);
    const required = await download('report');
    expect(description.problemsOf('get', '/api/download', required.status, required.json)).toEqual(
      [],
    );
    expect(required.json).toMatchObject({
      x402Version: 2,
      resource: {
        url: `https://files.example/api/download/${owner.address.toLowerCase()}/report`,
        mimeType: 'text/markdown',
      },
      accepts: [
        {
          amount: '1000',
          extra: { sha256: sha256(REPORT), size: 32, contentType: 'text/markdown' },
        },
      ],
    });
    const pay = wrapFetchWithPayment(fetch, clientOf(buyer));
    const bought = await pay(hub.url + pathOf('report'));
    expect([bought.status, await bought.text()]).toEqual([200, REPORT]);
    const receipt = decodePaymentResponseHeader(bought.headers.get('payment-response') ?? '');
    expect(receipt).toMatchObject({ success: true, transaction: expect.stringMatching(/^0x/) });
    // With its token, in parts; by its signature; and by paying again, which costs nothing.
    const token = { 'hub-access': bought.headers.get('hub-access') ?? '' };
    const part = await download('report', { ...token, range: 'bytes=2-7' });
    expect([part.status, part.text]).toEqual([206, 'report']);
    expect((await signed(buyer, 'GET', pathOf('report'))).text).toBe(REPORT);
    expect(await (await pay(hub.url + pathOf('report'))).text()).toBe(REPORT);
    expect((await earned()) - before).toBe(AMOUNT);
    // It stays the buyer's alone.
    expect((await signed(newAccount(), 'GET', pathOf('report'))).status).toBe(402);
    await sell('another', 'another report');
    expect((await download('another', token)).status).toBe(402);
    // And its owner's.
    expect((await signed(owner, 'GET', pathOf('report'))).text).toBe(REPORT);
    // What a buyer has put into a payment is not stored any longer.
    const redis = new Redis(world.redis.url);
    const sales = await redis.mget(await redis.keys('hub:sale:*'));
    redis.disconnect();
    expect(sales.map((sale) => JSON.parse(sale ?? '') as Json)).toEqual([
      expect.objectContaining({ paid: expect.anything(), paymentPayload: {} }),
    ]);
  });

  it('is paid once by a hundred requests with one header', async () => {
    await sell('hundred');
    const buyer = await world.payer({ balance: ENDOWMENT });
    const before = await earned();
    const payment = await paymentFor(buyer, 'hundred');
    const all = await Promise.all(Array.from({ length: 100 }, () => download('hundred', payment)));
    expect(new Set(all.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set([`200 ${REPORT}`]),
    );
    expect((await earned()) - before).toBe(AMOUNT);
  });

  deep(
    'costs nothing where the price has risen since the offer, or its bytes are damaged',
    async () => {
      await sell('raised');
      const buyer = await world.payer({ balance: ENDOWMENT });
      const before = await earned();
      const payment = await paymentFor(buyer, 'raised');
      await price('raised', { amount: '2000' });
      const refused = await download('raised', payment);
      expect([refused.status, refused.json]).toEqual([
        402,
        expect.objectContaining({ error: 'invalid_payment_requirements' }),
      ]);
      const unique = randomBytes(40).toString('hex');
      await sell('damaged', unique);
      const again = await paymentFor(buyer, 'damaged');
      const [volume, bytes] = volumeWith(dir, unique);
      writeFileSync(
        volume,
        Buffer.from(bytes.toString('latin1').replace(unique, 'x'.repeat(80)), 'latin1'),
      );
      expect((await download('damaged', again)).status).toBe(500);
      expect(await earned()).toBe(before);
      // Its sale stayed open.
      writeFileSync(volume, bytes);
      expect((await download('damaged', again)).text).toBe(unique);
      expect((await earned()) - before).toBe(AMOUNT);
    },
  );

  it('stays sold when its name is written again, its price is taken away, or it is removed', async () => {
    await sell('kept');
    const buyer = await world.payer({ balance: ENDOWMENT });
    const bought = await download('kept', await paymentFor(buyer, 'kept'));
    const token = { 'hub-access': bought.headers.get('hub-access') ?? '' };
    await store('kept', 'a newer one');
    // A price is of the bytes it was set on.
    expect((await signed(owner, 'GET', pathOf('kept'))).text).toBe(REPORT);
    expect((await download('kept', token)).text).toBe(REPORT);
    await price('kept', { amount: '0' });
    expect((await download('kept', token)).text).toBe(REPORT);
    expect((await signed(owner, 'GET', pathOf('kept'))).text).toBe('a newer one');
  });

  it('is read by its buyer at the URL of its bucket, also when the name is in another bucket by now', async () => {
    await sell('moved');
    const buyer = await world.payer({ balance: ENDOWMENT });
    const bought = await download('moved', await paymentFor(buyer, 'moved'));
    const token = { 'hub-access': bought.headers.get('hub-access') ?? '' };
    const body = { owner: owner.address, id: 'moved', bucket: 'elsewhere', message: 'another' };
    expect((await signed(owner, 'POST', '/api/upload', JSON.stringify(body))).status).toBe(200);
    const bucket = owner.address.toLowerCase();
    const object = `/v1/buckets/${bucket}/objects/moved/content?owner=${bucket}`;
    expect((await hub.get(object, token)).text).toBe(REPORT);
    expect((await hub.get(object)).text).not.toBe(REPORT);
  });

  it('is not given away in a conversation', async () => {
    await sell('chat_0', 'not for free');
    await store('chat_1', 'for free');
    const path = `/api/conversation?${new URLSearchParams({ owner: owner.address, name: 'chat' }).toString()}`;
    if (mode === 'public') expect((await hub.get(path)).json).toEqual(['for free']);
    else expect((await hub.get(path)).status).toBe(401);
  });

  deep(
    'is sold and not sold again where the process is killed after the payment was sent',
    async () => {
      await sell('crashed');
      const buyer = await world.payer({ balance: ENDOWMENT });
      const before = await earned();
      const payment = await paymentFor(buyer, 'crashed');
      const asking = download('crashed', payment).catch(() => undefined);
      await paidBy(buyer);
      await service.stop('SIGKILL');
      await asking;
      service = await world.service(settings());
      hub = new Hub(service);
      expect(await untilBytes('crashed', payment)).toBe(REPORT);
      expect((await earned()) - before).toBe(AMOUNT);
    },
  );

  /** Resolves when the payment is in a block. */
  async function paidBy({ address }: PrivateKeyAccount): Promise<void> {
    while ((await world.balance(world.usd, address)) === ENDOWMENT) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** As a patient buyer does: with the same payment, until it is no longer under way. */
  async function untilBytes(name: string, payment: GivenHeaders): Promise<string> {
    for (;;) {
      const answer = await download(name, payment);
      if (answer.status !== 503) return answer.text;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
});

/** The file of the store that holds this text, and its bytes. */
function volumeWith(dir: string, text: string): [path: string, bytes: Buffer] {
  const root = join(dir, 'volumes');
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.vol'))
    .map((path) => join(root, path));
  const found = paths
    .map((path): [string, Buffer] => [path, readFileSync(path)])
    .find(([, bytes]) => bytes.includes(text));
  if (found === undefined) throw new Error('no volume holds it');
  return found;
}
