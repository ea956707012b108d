import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Service } from '../../sandbox/service.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount, permit2Body } from '../support/payments.js';
import { World } from '../support/world.js';

describe('settle', () => {
  let world: World;
  let service: Service;
  let payer: PrivateKeyAccount;

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.3 });
    service = await world.service();
    payer = await world.payer({ approves: true });
  });
  afterAll(() => world.stop());

  const settle = (body: Body, headers: Record<string, string> = {}): Promise<Answer> =>
    post(`${service.url}/v2/settle`, body, headers);

  const aBody = (payTo = newAccount().address, amount = 1000n): Promise<Body> =>
    eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo, amount });

  /** Sends a settle and drops the connection as soon as its transaction is on its way. */
  async function settleAndHangUp(body: Body): Promise<void> {
    const text = JSON.stringify(body);
    const outgoing = request(`${service.url}/v2/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
    });
    outgoing.on('error', () => undefined);
    outgoing.end(text);
    await eventually('it is on its way', async () => {
      const { body: status } = await get(`${service.url}/v2/settlements?${queryOf(body)}`);
      return ['broadcast', 'included', 'finalized'].includes(String(status['state']));
    });
    outgoing.destroy();
  }

  function queryOf({ paymentPayload, paymentRequirements }: Body): string {
    const { authorization } = paymentPayload['payload'] as {
      authorization: Record<string, string>;
    };
    const { network, asset } = paymentRequirements as Record<string, string>;
    const { from: who = '', nonce = '' } = authorization;
    return `network=${network}&asset=${asset}&payer=${who}&nonce=${nonce}`;
  }

  it('twenty at once give one success and nineteen duplicates with its hash', async () => {
    const payTo = newAccount().address;
    const body = await aBody(payTo);
    const answers = await Promise.all(Array.from({ length: 20 }, () => settle(body)));

    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const sold = answers.filter(({ body: answer }) => answer['success'] === true);
    expect(sold).toHaveLength(1);
    const hash = sold.map(({ body: answer }) => answer['transaction'])[0];
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/);
    for (const { body: answer } of answers.filter((one) => one !== sold[0])) {
      expect(answer).toMatchObject({
        success: false,
        errorReason: 'duplicate_settlement',
        transaction: hash,
        network: `eip155:${world.chainId}`,
        payer: payer.address,
      });
    }
    expect(await world.balance(world.usd, payTo)).toBe(1000n);
  });

  it('fifty payments at once with one signer all succeed', async () => {
    const payTo = newAccount().address;
    const bodies = await Promise.all([
      ...Array.from({ length: 35 }, () => aBody(payTo)),
      ...Array.from({ length: 15 }, () =>
        permit2Body({ payer, chainId: world.chainId, token: world.coin, payTo }),
      ),
    ]);
    const answers = await Promise.all(bodies.map((body) => settle(body)));
    expect(answers.map(({ body }) => body['success'])).toEqual(Array(50).fill(true));
    expect(await world.balance(world.usd, payTo)).toBe(35_000n);
    expect(await world.balance(world.coin, payTo)).toBe(15_000n);
  });

  it('asked again after its connection dropped it is sold, once', async () => {
    const payTo = newAccount().address;
    const body = await aBody(payTo);
    await settleAndHangUp(body);
    await eventually('paid', async () => (await world.balance(world.usd, payTo)) === 1000n);

    const second = await settle(body);
    expect(second.body).toMatchObject({ success: true });
    const third = await settle(body);
    expect(third.body).toMatchObject({
      success: false,
      errorReason: 'duplicate_settlement',
      transaction: second.body['transaction'],
    });
    expect(await world.balance(world.usd, payTo)).toBe(1000n);
  });

  it('tells an idempotency key the same answer each time', async () => {
    const body = await aBody();
    const key = { 'idempotency-key': 'order-1' };
    const together = await Promise.all([settle(body, key), settle(body, key), settle(body, key)]);
    const later = await settle(body, key);
    for (const answer of [...together, later]) {
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual(later.body);
    }
    expect(later.body).toMatchObject({ success: true });
    // Another order, or none, is not sold the same payment.
    expect((await settle(body)).body).toMatchObject({ errorReason: 'duplicate_settlement' });
    const other = await settle(body, { 'idempotency-key': 'order-2' });
    expect(other.body).toMatchObject({ errorReason: 'duplicate_settlement' });
  });

  it('keeps the sale for an idempotency key whose connection dropped', async () => {
    const payTo = newAccount().address;
    const body = await aBody(payTo);
    const key = { 'idempotency-key': 'order-3' };
    const waiting = settle(body, key);
    await settleAndHangUp(body);
    expect((await waiting).body).toMatchObject({ success: true });
    expect((await settle(body, key)).body).toMatchObject({ success: true });
  });

  it('refuses an idempotency key that comes with another payment', async () => {
    const payTo = newAccount().address;
    const key = { 'idempotency-key': 'order-4' };
    expect((await settle(await aBody(payTo), key)).body).toMatchObject({ success: true });
    const conflict = await settle(await aBody(payTo), key);
    expect(conflict.status).toBe(409);
    expect(conflict.body).toMatchObject({
      success: false,
      errorReason: 'idempotency_key_conflict',
      transaction: '',
      network: `eip155:${world.chainId}`,
    });
    expect(await world.balance(world.usd, payTo)).toBe(1000n);
  });

  it('scopes an idempotency key to the payee', async () => {
    const key = { 'idempotency-key': 'order-5' };
    const first = await settle(await aBody(), key);
    const second = await settle(await aBody(), key);
    expect([first.body['success'], second.body['success']]).toEqual([true, true]);
  });

  it('a stranger that settles one unit to a seller under its order numbers occupies none', async () => {
    const payTo = newAccount().address;
    const key = { 'idempotency-key': 'order-6' };
    const stranger = await world.payer();
    const options = { chainId: world.chainId, token: world.usd, payTo };
    const occupying = await eip3009Body({ ...options, payer: stranger, amount: 1n });
    expect((await settle(occupying, key)).body).toMatchObject({ success: true });
    expect((await settle(await aBody(payTo), key)).body).toMatchObject({ success: true });
  });

  it('tells nothing of a settled payment to other terms or a forged signature', async () => {
    const body = await aBody();
    expect((await settle(body)).body).toMatchObject({ success: true });
    const requirements = body.paymentRequirements;
    const payload = body.paymentPayload['payload'] as { signature: string; authorization: object };

    const otherPayee = { ...requirements, payTo: newAccount().address };
    const otherAmount = { ...requirements, amount: '1' };
    const forged = {
      ...body.paymentPayload,
      payload: { ...payload, signature: `0x${'11'.repeat(64)}1b` },
    };
    const cases: [Body, string][] = [
      [{ ...body, paymentRequirements: otherPayee }, 'invalid_exact_evm_recipient_mismatch'],
      [
        { ...body, paymentRequirements: otherAmount },
        'invalid_exact_evm_payload_authorization_value_mismatch',
      ],
      [{ ...body, paymentPayload: forged }, 'invalid_exact_evm_signature'],
    ];
    for (const [changed, reason] of cases) {
      expect((await settle(changed)).body).toMatchObject({
        success: false,
        errorReason: reason,
        transaction: '',
      });
    }
  });

  it('recognises one payment in every spelling', async () => {
    const body = await aBody();
    expect((await settle(body)).body).toMatchObject({ success: true });
    const payload = body.paymentPayload['payload'] as {
      signature: string;
      authorization: Record<string, string>;
    };
    const { from, to, value, nonce } = payload.authorization;
    const respelled: Body = {
      ...body,
      paymentPayload: {
        ...body.paymentPayload,
        payload: {
          signature: payload.signature.toUpperCase().replace('0X', '0x'),
          authorization: {
            ...payload.authorization,
            from: from?.toLowerCase(),
            to: to?.toLowerCase(),
            value: `0x${BigInt(value ?? 0).toString(16)}`,
            nonce: nonce?.toUpperCase().replace('0X', '0x'),
          },
        },
      },
      paymentRequirements: {
        ...body.paymentRequirements,
        asset: world.usd.toUpperCase().replace('0X', '0x'),
        amount: '01000',
      },
    };
    expect((await settle(respelled)).body).toMatchObject({ errorReason: 'duplicate_settlement' });
  });

  it('hands a settlement out at once when asked to, to one', async () => {
    const payTo = newAccount().address;
    const body = await aBody(payTo);
    const handed = await settle(body, { prefer: 'respond-async' });
    expect(handed.status).toBe(202);
    expect(handed.body).toMatchObject({ success: false, transaction: '', payer: payer.address });
    const id = handed.headers.get('settlement-id');
    expect(handed.headers.get('location')).toBe(`/v2/settlements/${id ?? ''}`);

    const other = await settle(body, { prefer: 'respond-async' });
    expect(other.body).toMatchObject({ errorReason: 'duplicate_settlement' });

    await eventually(
      'finalized',
      async () => {
        const { body: status } = await get(`${service.url}/v2/settlements/${id ?? ''}`);
        return status['state'] === 'finalized';
      },
      world.isGeth ? 60_000 : undefined,
    );
    const { body: status } = await get(`${service.url}/v2/settlements/${id ?? ''}`);
    expect(status).toMatchObject({ paid: true, sale: 'sold', finality: 'finalized' });
    expect(status).not.toHaveProperty('success');
    expect(await world.balance(world.usd, payTo)).toBe(1000n);
  });

  it('tells success at the finality that is asked for', async () => {
    const body = await aBody();
    let answer = await settle(body, { 'settle-finality': 'finalized' });
    // On go-ethereum alone it may be further away than one wait lasts.
    while (world.isGeth && answer.body['errorReason'] === 'settlement_pending') {
      answer = await settle(body, { 'settle-finality': 'finalized' });
    }
    expect(answer.body).toMatchObject({ success: true });
    expect(answer.headers.get('settle-finality')).toBe('finalized');
    const hash = answer.body['transaction'] as `0x${string}`;
    const { blockNumber } = await world.client.getTransactionReceipt({ hash });
    const finalized = await world.client.getBlock({ blockTag: 'finalized' });
    expect(finalized.number).toBeGreaterThanOrEqual(blockNumber);
  });
});
