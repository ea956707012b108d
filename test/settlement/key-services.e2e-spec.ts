import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Address } from 'viem';
import { sandboxAccount } from '../../sandbox/accounts.js';
import type { Service } from '../../sandbox/service.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { KeyServiceFixture } from '../support/key-service.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const AMOUNT = 1000n;
const AWS_KEY = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const GCP_KEY = 'projects/p/locations/europe-west3/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1';
/** The SDK looks for credentials; the stand-in checks none. */
const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'nobody', AWS_SECRET_ACCESS_KEY: 'nothing' };

/** Lanes whose keys a key service holds; a stand-in of the test serves them. */
describe('keys that a service keeps', () => {
  let world: World;
  let keys: KeyServiceFixture;
  let redis: Redis;
  let database = 0;
  const [kept, own, third] = [sandboxAccount(4), sandboxAccount(5), sandboxAccount(6)];
  const services: Service[] = [];

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.3 });
  });
  afterAll(() => world.stop());
  beforeEach(async () => {
    database += 1;
    redis = new Redis(world.redis.url, { db: database });
    keys = await KeyServiceFixture.start();
    keys.keep(AWS_KEY, kept.key);
    keys.keep(GCP_KEY, kept.key);
  });
  afterEach(async () => {
    redis.disconnect();
    await Promise.all(services.splice(0).map((service) => service.stop('SIGKILL')));
    await keys.stop();
  });

  async function aService(signers: string, more: Record<string, string> = {}): Promise<Service> {
    const service = await world.service({
      REDIS_URL: `${world.redis.url}/${database}`,
      SIGNER_KEYS: signers,
      AWS_KMS_ENDPOINT: keys.url,
      GCP_KMS_ENDPOINT: keys.url,
      SETTLE_WAIT_MS: '5000',
      ...CREDENTIALS,
      ...more,
    });
    services.push(service);
    return service;
  }

  const awsKey = (address: Address = kept.address): string => `aws-kms:${AWS_KEY}@${address}`;
  const gcpKey = `gcp-kms:${GCP_KEY}@${kept.address}`;

  async function aBody(): Promise<Body> {
    const payer = newAccount();
    await world.fund(payer.address, AMOUNT);
    const { chainId, usd: token } = world;
    return eip3009Body({ payer, chainId, token, payTo: newAccount().address, amount: AMOUNT });
  }
  const settle = async ({ url }: Service): Promise<Answer> => post(`${url}/settle`, await aBody());

  /** All at once; their payers get their money one after the other, for one account sends it. */
  async function settleAtOnce({ url }: Service, count: number): Promise<readonly Answer[]> {
    const bodies: Body[] = [];
    for (let n = 0; n < count; n += 1) bodies.push(await aBody());
    return Promise.all(bodies.map((body) => post(`${url}/settle`, body)));
  }

  async function senderOf({ body }: Answer): Promise<Address> {
    expect(body).toMatchObject({ success: true });
    const hash = body['transaction'] as `0x${string}`;
    return (await world.client.getTransaction({ hash })).from;
  }

  /** Why a lane takes nothing, as operators see it. */
  async function troubleOf({ opsUrl }: Service, address: Address): Promise<unknown> {
    const { body } = await get(`${opsUrl}/health`);
    const { lanes } = body['details'] as { lanes: Record<string, { code?: string }> };
    return lanes[`${world.chainId}:${address.toLowerCase()}`]?.code;
  }

  it.each([
    ['AWS KMS', awsKey()],
    ['Google Cloud KMS', gcpKey],
  ])('settles with a key of %s, from the account of the settings', async (_, key) => {
    const service = await aService(key);
    expect(await senderOf(await settle(service))).toBe(kept.address.toLowerCase());
    for (const answer of await settleAtOnce(service, 3)) await senderOf(answer);
  });

  it('does not start with a key of another account', async () => {
    await expect(aService(awsKey(own.address))).rejects.toThrow(/is the key of 0x/);
  });

  it('settles through throttling', async () => {
    keys.throttledPercent = 30;
    const service = await aService(awsKey());
    for (let n = 0; n < 8; n += 1) await senderOf(await settle(service));
    expect(keys.throttled).toBeGreaterThan(0);
  });

  it.each(['refuses', 'hangs', 'lies', 'fails'] as const)(
    'one that %s takes its lane out, and nothing else, until it signs again',
    async (mood) => {
      const service = await aService(`${awsKey()},${own.key}`, { SIGNER_TIMEOUT_MS: '400' });
      keys.mood = mood;
      await eventually(
        'it is named',
        async () => {
          // A lane that is not asked to sign has nothing to show: the other may take all that comes.
          for (const answer of await settleAtOnce(service, 6))
            expect(await senderOf(answer)).toBe(own.address.toLowerCase());
          return (await troubleOf(service, kept.address)) === 'signer_unavailable';
        },
        60_000,
      );
      expect(await troubleOf(service, own.address)).toBeUndefined();
      const { body } = await get(`${service.url}/health`);
      expect(body).toMatchObject({ status: 'ok' });
      keys.mood = 'well';
      await eventually(
        'it is back',
        async () => (await troubleOf(service, kept.address)) === undefined,
        20_000,
      );
    },
  );

  it('tells sellers that nothing was sent while its only key does not sign, and settles the same payment later', async () => {
    const service = await aService(awsKey(), { SETTLE_WAIT_MS: '1500', SIGNER_TIMEOUT_MS: '400' });
    keys.mood = 'hangs';
    const body = await aBody();
    const first = await post(`${service.url}/settle`, body);
    expect(first.body).toMatchObject({ success: false, errorReason: 'settlement_not_sent' });
    keys.mood = 'well';
    await eventually(
      'it is settled',
      async () => (await post(`${service.url}/settle`, body)).body['success'] === true,
      20_000,
    );
    const nonce = await world.client.getTransactionCount({ address: kept.address });
    expect(
      await redis.hget(`x402:{${world.chainId}:0}:l:${kept.address.toLowerCase()}`, 'next'),
    ).toBe(String(nonce));
  });

  it('killed while it signs: nothing was stored, no nonce is used, and the next one pays once', async () => {
    keys.latencyMs = 1500;
    const first = await aService(awsKey(), { SIGNER_TIMEOUT_MS: '10000' });
    const before = keys.signatures;
    const body = await aBody();
    const lost = post(`${first.url}/settle`, body).catch(() => undefined);
    await eventually('its signature is made', () => keys.signatures > before);
    await first.stop('SIGKILL');
    await lost;
    keys.latencyMs = 0;
    const second = await aService(awsKey());
    await eventually(
      'it is settled',
      async () => (await post(`${second.url}/settle`, body)).body['success'] === true,
      20_000,
    );
    const payTo = body.paymentRequirements['payTo'] as Address;
    expect(await world.balance(world.usd, payTo)).toBe(AMOUNT);
  });

  it('a key that is taken out: what it has sent is followed to its end by its address alone', async () => {
    keys.keep(AWS_KEY, third.key);
    const before = await aService(awsKey(third.address));
    const body = await aBody();
    await world.client.setIntervalMining({ interval: 0 });
    const pending = await post(`${before.url}/settle`, body);
    expect(pending.body).toMatchObject({ success: false, errorReason: 'settlement_pending' });
    await before.stop('SIGKILL');
    // Its key service is gone too, so nothing can be signed for it any more.
    await keys.stop();
    keys = await KeyServiceFixture.start();
    const after = await aService(own.key);
    await world.client.setIntervalMining({ interval: 1 });
    const hash = pending.body['transaction'];
    const lane = `x402:{${world.chainId}:0}:l:${third.address.toLowerCase()}`;
    await eventually(
      'nothing of it is left',
      async () => (await redis.hlen(`${lane}:attempts`)) === 0,
      30_000,
    );
    expect((await post(`${after.url}/settle`, body)).body).toMatchObject({
      success: true,
      transaction: hash,
    });
  });
});
