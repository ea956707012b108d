import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Service } from '../../../sandbox/service.js';
import { REQUESTER_SCRIPTS } from '../../../src/settlement/ledger/requester-scripts.js';
import { type Answer, eventually, get, post } from '../../support/http.js';
import { type Body, eip3009Body, newAccount } from '../../support/payments.js';
import { RedisGate } from '../../support/redis-gate.js';
import { World } from '../../support/world.js';

/** Attacks on the sale through HTTP, on a chain that mines when a test says so. */
describe('the sale under attack', () => {
  let world: World;
  let gate: RedisGate;
  let service: Service;
  let payer: PrivateKeyAccount;

  beforeAll(async () => {
    world = await World.start();
    gate = await RedisGate.start(world.redis.port);
    service = await world.service({
      REDIS_URL: gate.url,
      SETTLE_WAIT_MS: '4000',
      TRUST_PROXY: '1',
    });
    payer = await world.payer();
    await world.client.setAutomine(false);
  });
  afterAll(async () => {
    await world.stop();
    await gate.stop();
  });

  const SELLER = { 'x-forwarded-for': '198.51.100.1' };
  const COPIER = { 'x-forwarded-for': '203.0.113.66' };

  const settle = (body: Body, headers: Record<string, string> = SELLER): Promise<Answer> =>
    post(`${service.url}/v2/settle`, body, headers);

  const aBody = (): Promise<Body> =>
    eip3009Body({
      payer,
      chainId: world.chainId,
      token: world.usd,
      payTo: newAccount().address,
    });

  const isInPool = (): Promise<void> =>
    eventually('in the pool', async () => (await world.client.getTxpoolStatus()).pending >= 1);

  const mine = (blocks = 1): Promise<void> => world.client.mine({ blocks });

  it('a copier asks from another address after the broadcast: the seller gets the sale', async () => {
    const body = await aBody();
    const pending = settle(body);
    await isInPool();
    const copying = settle(body, { ...COPIER, 'idempotency-key': 'a-copy' });
    expect((await pending).body).toMatchObject({ errorReason: 'settlement_pending' });
    await mine();
    const copied = await copying;
    expect(copied.body).toMatchObject({ success: false, errorReason: 'settlement_pending' });
    expect(copied.body['transaction']).toMatch(/^0x[0-9a-f]{64}$/);
    expect((await settle(body)).body).toMatchObject({ success: true });
    expect((await settle(body, COPIER)).body).toMatchObject({
      errorReason: 'duplicate_settlement',
    });
  });

  it('the seller asks from elsewhere with its idempotency key, and is told', async () => {
    const body = await aBody();
    const key = { 'idempotency-key': 'order-of-the-seller' };
    const pending = settle(body, { ...SELLER, ...key });
    await isInPool();
    await pending;
    await mine();
    const elsewhere = { 'x-forwarded-for': '192.0.2.9', ...key };
    expect((await settle(body, elsewhere)).body).toMatchObject({ success: true });
  });

  it.each(['claim', 'redeem'] as const)(
    'the reply of %s is swallowed, the process lives on: the seller is told success',
    async (step) => {
      const body = await aBody();
      gate.swallow(REQUESTER_SCRIPTS[step]);
      const settling = settle(body);
      await isInPool();
      await mine();
      const first = await settling;
      // Its time may have been up meanwhile; then the sale is its own to ask for.
      const { body: answer } = first.body['success'] === true ? first : await settle(body);
      expect(answer).toMatchObject({ success: true });
      expect((await settle(body)).body).toMatchObject({ errorReason: 'duplicate_settlement' });
    },
  );

  it('the reply of leaving is swallowed: what it held is given up', async () => {
    await service.stop();
    service = await world.service({ REDIS_URL: gate.url, ROLES: 'api', SETTLE_WAIT_MS: '1000' });
    const body = await aBody();
    gate.swallow(REQUESTER_SCRIPTS.leave);
    const { body: answer } = await settle(body);
    expect(['network_unavailable', 'settlement_not_sent']).toContain(answer['errorReason']);
    const query = new URLSearchParams({
      paymentPayload: Buffer.from(JSON.stringify(body.paymentPayload)).toString('base64url'),
      paymentRequirements: Buffer.from(JSON.stringify(body.paymentRequirements)).toString(
        'base64url',
      ),
    });
    await eventually('it is withdrawn', async () => {
      const { status } = await get(`${service.url}/v2/settle?${query.toString()}`);
      return status === 404;
    });
  });
});
