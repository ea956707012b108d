import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { x402Client, x402HTTPClient } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import type { PrivateKeyAccount } from 'viem/accounts';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { eventually, get } from '../support/http.js';
import {
  type GivenHeaders,
  type Hub,
  HUB_ADDRESS,
  type HubAnswer,
  HubWorld,
} from '../support/hub-world.js';
import { type Json, newAccount } from '../support/payments.js';
import { bucketOf } from '../support/s3-bucket.js';
import { S3Fixture } from '../support/s3-fixture.js';
import { strictHeaders } from '../support/strict-signature.js';
import { World } from '../support/world.js';

const PATIENCE_MS = 60_000;
const BOOK = randomBytes(3_000_000);
/** The same after a restart. */
const PREFIX = `tests/${randomBytes(6).toString('hex')}`;

/**
 * A hub that keeps its files in a bucket, in a process without chains, and sells by a facilitator elsewhere. The bucket
 * is a fixture's, or that of `S3_ENDPOINT` where one is given, with `S3_BUCKET`, `S3_ACCESS_KEY_ID` and
 * `S3_SECRET_ACCESS_KEY`.
 */
describe('files for sale by a facilitator elsewhere, out of a bucket', () => {
  let world: World;
  let hubWorld: HubWorld;
  let postgres: SandboxPostgres;
  let fixture: S3Fixture;
  let facilitator: Service;
  let hub: Hub;
  const owner = newAccount();

  const hubSettings = (): Record<string, string> => ({
    ...bucketSettings(fixture),
    HUB_MODE: 'private',
    HUB_ADDRESS,
    HUB_PUBLIC_URL: 'https://files.example/api',
    HUB_SALES: 'true',
    HUB_SALES_SECRET: 'a secret of at least thirty-two characters',
    HUB_FACILITATOR_URL: facilitator.url,
  });
  const facilitatorSettings = (): Record<string, string> => ({
    ROLES: 'api,worker,history',
    DATABASE_URL: postgres.url,
  });

  beforeAll(async () => {
    [world, hubWorld, postgres, fixture] = await Promise.all([
      World.start(),
      HubWorld.start(),
      startPostgres(),
      S3Fixture.start(),
    ]);
    facilitator = await world.service(facilitatorSettings());
    hub = await hubWorld.hub(hubSettings());
    const tables = async (): Promise<boolean> =>
      (await get(`${facilitator.url}/discovery/resources`)).status === 200;
    await eventually('the tables of the catalogue', tables, PATIENCE_MS);
  }, 180_000);
  afterAll(async () => {
    await Promise.all([world.stop(), hubWorld.stop(), postgres.stop()]);
    await fixture.stop();
  });

  async function signed(method: string, path: string, body = ''): Promise<HubAnswer> {
    const headers = await strictHeaders(owner, { method, path, body });
    return hub.ask(path, { method, headers, ...(body !== '' && { body }) });
  }
  const pathOf = (name: string): string =>
    `/api/download?${new URLSearchParams({ owner: owner.address, name }).toString()}`;
  const clientOf = (account: PrivateKeyAccount): x402Client =>
    new x402Client()
      .register('eip155:*', new ExactEvmScheme(account))
      .setSpendControls({ allowedAssets: true });

  async function sell(name: string, message: string): Promise<void> {
    const upload = JSON.stringify({ owner: owner.address, id: name, message });
    expect((await signed('POST', '/api/upload', upload)).status).toBe(200);
    const price = JSON.stringify({
      file: name,
      network: `eip155:${world.chainId}`,
      asset: world.usd,
      amount: '1000',
      accessSeconds: 3600,
      contentType: 'text/markdown',
      extra: { name: USD_NAME, version: USD_VERSION },
    });
    expect((await signed('PUT', '/api/price', price)).status).toBe(200);
  }

  async function paymentFor(account: PrivateKeyAccount, name: string): Promise<GivenHeaders> {
    const { headers } = await hub.get(pathOf(name));
    const http = new x402HTTPClient(clientOf(account));
    const required = http.getPaymentRequiredResponse((header) => headers.get(header), {});
    return http.encodePaymentSignatureHeader(await http.createPaymentPayload(required));
  }
  const earned = (): Promise<bigint> => world.balance(world.usd, owner.address);

  it('are bought by the stock client once, and read in parts until access ends', async () => {
    const text = BOOK.toString('base64');
    await sell('book.md', text);
    const before = await earned();
    const pay = wrapFetchWithPayment(fetch, clientOf(await world.payer()));
    const bought = await pay(hub.url + pathOf('book.md'));
    expect(bought.status).toBe(200);
    expect(Buffer.from(await bought.text(), 'base64').equals(BOOK)).toBe(true);
    const token = { 'hub-access': bought.headers.get('hub-access') ?? '' };
    const part = await hub.get(pathOf('book.md'), { ...token, range: 'bytes=2000000-2000009' });
    expect([part.status, part.text]).toEqual([206, text.slice(2_000_000, 2_000_010)]);
    expect((await earned()) - before).toBe(1000n);
  });

  it('are listed in the catalogue by one purchase, with digest, size and type', async () => {
    const message = 'what a catalogue should know of';
    await sell('listed.md', message);
    const resource = `https://files.example/api/download/${owner.address.toLowerCase()}/listed.md`;
    const pay = wrapFetchWithPayment(fetch, clientOf(await world.payer()));
    expect((await pay(hub.url + pathOf('listed.md'))).status).toBe(200);
    const found = async (): Promise<Json | undefined> => {
      const { body } = await get(`${facilitator.url}/discovery/resources`);
      return (body['items'] as readonly Json[]).find((item) => item['resource'] === resource);
    };
    await eventually('it is listed', async () => (await found()) !== undefined, PATIENCE_MS);
    const digest = createHash('sha256').update(message).digest('hex');
    const item = JSON.stringify(await found());
    expect(item).toContain(digest);
    expect(item).toContain(`${message.length} bytes`);
    expect(item).toContain('text/markdown');
    expect(item.toLowerCase()).toContain(owner.address.toLowerCase());
  });

  it('are not paid twice where the facilitator is away, and come when it is back', async () => {
    await sell('patient.md', 'worth waiting for');
    const buyer = await world.payer();
    const payment = await paymentFor(buyer, 'patient.md');
    const before = await earned();
    const { url } = facilitator;
    await facilitator.stop('SIGKILL');
    const waiting = await hub.get(pathOf('patient.md'), payment);
    expect([waiting.status, waiting.text]).toEqual([
      503,
      expect.stringContaining('settlement_pending'),
    ]);
    facilitator = await world.service(facilitatorSettings(), Number(new URL(url).port));
    await eventually(
      'the bytes',
      async () => (await hub.get(pathOf('patient.md'), payment)).text === 'worth waiting for',
      PATIENCE_MS,
    );
    expect((await earned()) - before).toBe(1000n);
  });

  it('stay sold when the hub is killed and its Redis has kept the sale', async () => {
    await sell('killed.md', 'bought before the crash');
    const payment = await paymentFor(await world.payer(), 'killed.md');
    const before = await earned();
    const asking = hub.get(pathOf('killed.md'), payment).catch(() => undefined);
    await eventually('it is paid', async () => (await earned()) > before, PATIENCE_MS);
    await hub.service.stop('SIGKILL');
    await asking;
    hub = await hubWorld.hub(hubSettings());
    await eventually(
      'the bytes',
      async () => (await hub.get(pathOf('killed.md'), payment)).text === 'bought before the crash',
      PATIENCE_MS,
    );
    expect((await earned()) - before).toBe(1000n);
  });
});

function bucketSettings(fixture: S3Fixture): Record<string, string> {
  const { endpoint, bucket, accessKeyId, secretAccessKey } = bucketOf(fixture);
  return {
    ...fixture.settings,
    HUB_S3_ENDPOINT: endpoint,
    HUB_S3_BUCKET: bucket,
    HUB_S3_PREFIX: PREFIX,
    HUB_S3_ACCESS_KEY_ID: accessKeyId,
    HUB_S3_SECRET_ACCESS_KEY: secretAccessKey,
  };
}
