import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { SettleError, VerifyError } from '@x402/core/types';
import { freePort } from '../../../sandbox/processes.js';
import { type Service, startService } from '../../../sandbox/service.js';
import { diagnosisOf } from '../../../src/protocol/diagnosis/diagnosis.js';
import { eventually, get, post } from '../../support/http.js';
import { type Body, eip3009Body, newAccount } from '../../support/payments.js';
import { World } from '../../support/world.js';

interface NewKey {
  readonly key: string;
  readonly record: unknown;
}

const KEYS_NEW = fileURLToPath(
  new URL('../../../dist/operations/access/keys-new.js', import.meta.url),
);

/** What `npm run keys:new` prints. */
function newKey(id: string, scopes: string): NewKey {
  const printed = execFileSync(process.execPath, [KEYS_NEW, id, scopes], { encoding: 'utf8' });
  const [, key = '', record = ''] = /^ {2}(x402_\S+)$[^]*^ {2}(\{.*\})$/m.exec(printed) ?? [];
  return { key, record: JSON.parse(record) as unknown };
}

const SOMEBODY = `0x${'1'.repeat(40)}`;

describe('API keys', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'x402-keys-')), 'keys.json');
  const shop = newKey('shop', 'verify,settle');
  const checker = newKey('checker', 'verify');
  let world: World;
  let service: Service;

  const write = (...keys: readonly NewKey[]): void => {
    writeFileSync(file, JSON.stringify({ version: 1, keys: keys.map(({ record }) => record) }));
  };
  const paymentTo = async (payTo: `0x${string}`): Promise<Body> =>
    eip3009Body({ payer: await world.payer(), chainId: world.chainId, token: world.usd, payTo });

  beforeAll(async () => {
    write(shop, checker);
    world = await World.start();
    service = await world.service({ API_KEYS_FILE: file });
  });
  afterAll(() => world.stop());

  it('are added to a file, which is made where it is missing', () => {
    const added = join(mkdtempSync(join(tmpdir(), 'x402-keys-')), 'keys.json');
    const printed = ['first', 'second'].map((id) =>
      execFileSync(process.execPath, [KEYS_NEW, id, '--file', added], { encoding: 'utf8' }),
    );
    expect(printed).toEqual([
      expect.stringContaining('which now has 1 key.'),
      expect.stringContaining('which now has 2 keys.'),
    ]);
    expect(JSON.parse(readFileSync(added, 'utf8'))).toMatchObject({
      version: 1,
      keys: [{ id: 'first' }, { id: 'second' }],
    });
  });

  it.each([
    [['shop', 'nonsense'], 'SCOPES: "nonsense" is not a scope.'],
    [['shop', 'history', '0x12'], 'PAYEES: "0x12" is not an address.'],
    [['--help'], "Unknown option '--help'"],
  ])('are not made of %j', (args, problem) => {
    const { status, stderr } = spawnSync(process.execPath, [KEYS_NEW, ...args], {
      encoding: 'utf8',
    });
    expect(status).toBe(2);
    expect(stderr).toContain(problem);
  });

  it('let the stock client verify, settle and read what is supported', async () => {
    const headers = { Authorization: `Bearer ${shop.key}` };
    const client = new HTTPFacilitatorClient({
      url: service.url,
      createAuthHeaders: () =>
        Promise.resolve({ verify: headers, settle: headers, supported: headers }),
    });
    const body = await paymentTo(newAccount().address);
    const args = [body.paymentPayload, body.paymentRequirements] as unknown as Parameters<
      typeof client.verify
    >;
    expect((await client.getSupported()).kinds.length).toBeGreaterThan(0);
    expect(await client.verify(...args)).toMatchObject({ isValid: true });
    expect(await client.settle(...args)).toMatchObject({ success: true });

    const stranger = new HTTPFacilitatorClient({ url: service.url });
    await expect(stranger.verify(...args)).rejects.toThrow(VerifyError);
    await expect(stranger.verify(...args)).rejects.toMatchObject({
      statusCode: 401,
      invalidReason: 'unauthorized',
    });
    await expect(stranger.settle(...args)).rejects.toThrow(SettleError);
    await expect(stranger.settle(...args)).rejects.toMatchObject({
      statusCode: 401,
      errorReason: 'unauthorized',
    });
  });

  it.each([
    ['a list', ''],
    ['a list with a bad filter', '?state=nonsense'],
    ['a label', `?paymentId=order_1&payTo=${SOMEBODY}&payer=${SOMEBODY}`],
  ])('are refused where unknown, before the query is read: %s', async (_, query) => {
    const found = await get(`${service.url}/v2/settlements${query}`, { 'X-API-Key': 'x402_wrong' });
    expect(found).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
  });

  it('are asked for before the filters of a list are read', async () => {
    expect(await get(`${service.url}/v2/settlements?state=nonsense`)).toMatchObject({
      status: 401,
      body: { code: 'unauthorized' },
    });
    expect(await get(`${service.url}/v2/settlements`)).toMatchObject({ status: 400 });
  });

  it.each(['', '/v1', '/v2'])('are asked for at %s/verify and settle', async (prefix) => {
    const wrong: Record<string, string>[] = [
      {},
      { 'X-API-Key': 'x402_wrong' },
      { Authorization: 'Bearer x402_wrong' },
      { Authorization: `Basic ${shop.key}` },
      { 'X-API-Key': 'wrong', Authorization: `Bearer ${shop.key}` },
    ];
    for (const headers of wrong) {
      const verify = await post(`${service.url}${prefix}/verify`, '{', headers);
      expect(verify.status).toBe(401);
      expect(verify.body).toEqual({
        isValid: false,
        invalidReason: 'unauthorized',
        invalidMessage: expect.stringContaining(
          Object.keys(headers).length === 0 ? 'is required' : 'does not know',
        ),
        payer: '',
        extensions: { diagnosis: diagnosisOf('unauthorized') },
      });
      expect(verify.headers.get('www-authenticate')).toContain('Bearer');
      const settle = await post(`${service.url}${prefix}/settle`, '{', headers);
      expect(settle.status).toBe(401);
      expect(settle.body).toEqual({
        success: false,
        errorReason: 'unauthorized',
        errorMessage: expect.stringContaining(
          Object.keys(headers).length === 0 ? 'is required' : 'does not know',
        ),
        transaction: '',
        network: '',
        extensions: { diagnosis: diagnosisOf('unauthorized') },
      });
    }
    const known = await post(`${service.url}${prefix}/settle`, '{', { 'X-API-Key': shop.key });
    expect(known.status).toBe(400);
  });

  it('do what their scopes say, and say 403 to the rest', async () => {
    const body = await paymentTo(newAccount().address);
    const headers = { 'X-API-Key': checker.key };
    const verified = await post(`${service.url}/verify`, body, headers);
    expect(verified.body).toMatchObject({ isValid: true });
    const refused = await post(`${service.url}/settle`, body, headers);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({
      success: false,
      errorReason: 'forbidden',
      transaction: '',
    });
    expect(refused.headers.get('www-authenticate')).toBeNull();
  });

  it('are not asked for where everything is public', async () => {
    for (const path of ['/supported', '/health', '/health/ready', '/health/live', '/']) {
      expect((await get(service.url + path)).status).toBe(200);
    }
    const unknown = await get(`${service.url}/v2/settlements/${'a'.repeat(32)}`);
    expect(unknown.status).toBe(404);
  });

  it('scope idempotency keys: one order of a seller is one order, whoever is paid', async () => {
    const headers = (key: NewKey): Record<string, string> => ({
      'X-API-Key': key.key,
      'Idempotency-Key': 'order-1',
    });
    const first = await paymentTo(newAccount().address);
    const elsewhere = await paymentTo(newAccount().address);
    const settled = await post(`${service.url}/settle`, first, headers(shop));
    expect(settled.body).toMatchObject({ success: true });
    const conflict = await post(`${service.url}/settle`, elsewhere, headers(shop));
    expect(conflict.status).toBe(409);
    const other = newKey('other', 'verify,settle');
    write(shop, checker, other);
    await eventually('a new key works', async () => {
      const answer = await post(`${service.url}/verify`, '{', { 'X-API-Key': other.key });
      return answer.status === 400;
    });
    const unrelated = await post(`${service.url}/settle`, elsewhere, headers(other));
    expect(unrelated.body).toMatchObject({ success: true });
  });

  it('stay in use while the file is broken, and are withdrawn with their record', async () => {
    const statusOf = async (key: NewKey): Promise<number> =>
      (await post(`${service.url}/verify`, '{', { 'X-API-Key': key.key })).status;
    writeFileSync(file, `{"version":1,"keys":[${JSON.stringify(shop.record).slice(0, 30)}`);
    await eventually('the broken file is logged', () =>
      service.log().includes('API_KEYS_FILE could not be read'),
    );
    expect(await statusOf(shop)).toBe(400);
    const { body } = await get(`${service.opsUrl}/health`);
    expect(body).toMatchObject({
      status: 'ok',
      details: { apiKeys: { status: 'up', code: 'api_keys_file_unusable' } },
    });
    write(checker);
    await eventually('the key is withdrawn', async () => (await statusOf(shop)) === 401);
    expect(await statusOf(checker)).toBe(400);
  });

  it('never reach the log', () => {
    const log = service.log();
    expect(log).toContain('API keys loaded');
    for (const { key, record } of [shop, checker]) {
      expect(log).not.toContain(key);
      expect(log).not.toContain((record as { sha256: string }).sha256);
    }
  });

  it('refuse to be guessed from a file that cannot be read at the start', async () => {
    const settings = world.settings({ API_KEYS_FILE: `${file}.missing` });
    await expect(startService(await freePort(), settings)).rejects.toThrow(
      `API_KEYS_FILE: ${file}.missing cannot be read (ENOENT)`,
    );
    expect(() => readFileSync(`${file}.missing`)).toThrow();
  });
});
