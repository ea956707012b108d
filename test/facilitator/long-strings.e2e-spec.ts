import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { type Service, startService } from '../../sandbox/service.js';
import { get, post } from '../support/http.js';
import { Inspector } from '../support/inspector.js';
import { type Body, eip3009Body, type Json, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

jest.setTimeout(120_000);

const MIB = 2 ** 20;

/** A copy with another text in one place, `a.b.c`. */
function withText(body: Body, path: string, text: unknown): Body {
  // Not structuredClone: parts that are one object in `body` are two here.
  const copy = JSON.parse(JSON.stringify(body)) as Body;
  const names = path.split('.');
  const last = names.pop() ?? '';
  const parent = names.reduce<Json>((part, name) => part[name] as Json, copy as unknown as Json);
  parent[last] = text;
  return copy;
}

describe('texts that are longer than any token, wallet or network makes them', () => {
  let world: World;
  let service: Service;
  let unsigned: Body;
  let redis: Redis;

  beforeAll(async () => {
    world = await World.start();
    redis = new Redis(world.redis.url);
    service = await startService(
      await freePort(),
      world.settings({ BODY_MAX_BYTES: String(2 * MIB), SETTLE_WAIT_MS: '1000' }),
      ['--inspect=127.0.0.1:0'],
    );
    const options = { payer: newAccount(), chainId: world.chainId, payTo: newAccount().address };
    unsigned = await eip3009Body({ ...options, token: world.usd });
    unsigned = withText(unsigned, 'paymentPayload.payload.signature', `0x${'11'.repeat(65)}`);
  });
  afterAll(async () => {
    redis.disconnect();
    await service.stop('SIGKILL');
    await world.stop();
  });

  it('316 unsigned verifies with an extra.name of 1 MiB leave nothing behind', async () => {
    const inspector = await Inspector.of(service.log());
    const ask = async (number: number): Promise<Json> => {
      const name = `${number} ${'x'.repeat(MIB)}`;
      const body = withText(unsigned, 'paymentRequirements.extra.name', name);
      return (await post(`${service.url}/v2/verify`, body)).body;
    };
    await ask(-1);
    const before = await inspector.usedHeap();
    for (let number = 0; number < 316; number += 1) {
      expect(await ask(number)).toMatchObject({ isValid: false });
    }
    expect((await inspector.usedHeap()) - before).toBeLessThan(16 * MIB);
    inspector.close();
    expect((await get(`${service.url}/health/live`)).status).toBe(200);
  });

  it('a payment whose token name is 400 KB long is refused and takes no room in Redis', async () => {
    const used = async (): Promise<number> =>
      Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
    const token = world.usd;
    const payer = newAccount();
    const payTo = newAccount().address;
    const name = 'x'.repeat(400_000);
    const body = await eip3009Body({ payer, chainId: world.chainId, token, payTo, name });
    const before = await used();
    const { body: answer } = await post(`${service.url}/v2/settle`, body);
    expect(answer).toMatchObject({
      success: false,
      errorReason: 'invalid_payment_requirements',
      transaction: '',
    });
    expect((await used()) - before).toBeLessThan(64 * 1024);
  });

  const LONG = 'x'.repeat(20_000);
  const HEX = `0x${'11'.repeat(40_000)}`;
  it.each([
    ['extra.name', 'paymentRequirements.extra.name', LONG, 'invalid_payment_requirements'],
    ['extra.version', 'paymentRequirements.extra.version', LONG, 'invalid_payment_requirements'],
    ['scheme', 'paymentRequirements.scheme', LONG, 'unsupported_scheme'],
    ['network', 'paymentRequirements.network', LONG, 'invalid_network'],
    ['asset', 'paymentRequirements.asset', LONG, 'invalid_payment_requirements'],
    ['payTo', 'paymentRequirements.payTo', LONG, 'invalid_payment_requirements'],
    ['amount', 'paymentRequirements.amount', '9'.repeat(20_000), 'invalid_payment_requirements'],
    ['signature', 'paymentPayload.payload.signature', HEX, 'invalid_exact_evm_signature'],
    ['nonce', 'paymentPayload.payload.authorization.nonce', HEX, 'invalid_exact_evm_signature'],
  ])('%s', async (_name, path, text, reason) => {
    const { body } = await post(`${service.url}/v2/verify`, withText(unsigned, path, text));
    expect(body['isValid']).toBe(false);
    expect(JSON.stringify(body).length).toBeLessThan(1000);
    expect(body['invalidReason']).toBe(reason);
  });
});
