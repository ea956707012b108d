import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Secret } from '../../platform/config/secret.js';
import { GatewayUnavailableError } from '../errors.js';
import { HttpPaymentGateway } from './http-payment-gateway.js';
import { hasFailed, isTransient } from './payment-gateway.js';

const PAYMENT = { paymentPayload: { x402Version: 2 }, paymentRequirements: { amount: '1' } };
const gateway = new HttpPaymentGateway({ url: 'http://pay:4022', apiKey: new Secret('key') });

function answering(body: string, init?: ResponseInit): jest.Spied<typeof fetch> {
  return jest.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(body, init));
}

describe('a facilitator over HTTP', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is asked as any seller asks it', async () => {
    const fetched = answering('{"success":true,"transaction":"0x1","network":"eip155:56"}');
    expect(await gateway.settle(PAYMENT, 'order')).toMatchObject({ success: true });
    const [url, request] = fetched.mock.calls[0] ?? [];
    expect(url).toBe('http://pay:4022/settle');
    expect(request).toMatchObject({
      method: 'POST',
      redirect: 'error',
      headers: { 'Idempotency-Key': 'order', 'X-API-Key': 'key' },
      body: JSON.stringify({ x402Version: 2, ...PAYMENT }),
    });
  });

  it('is believed where it answers with another status, as some do', async () => {
    answering('{"success":false,"errorReason":"idempotency_key_conflict"}', { status: 409 });
    expect(await gateway.settle(PAYMENT, 'order')).toEqual({
      success: false,
      errorReason: 'idempotency_key_conflict',
      transaction: '',
      network: '',
    });
  });

  const nested = `{"success":true,"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
  it.each(['', '<html>', '[]', '{}', '{"success":"yes"}', `"${'x'.repeat(70_000)}"`, nested])(
    'did not answer by an unreadable answer (%#): its effect is not known',
    async (body) => {
      answering(body);
      await expect(gateway.settle(PAYMENT, 'order')).rejects.toThrow(GatewayUnavailableError);
    },
  );

  it('did not answer where it cannot be reached', async () => {
    jest.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('fetch failed'));
    await expect(gateway.verify(PAYMENT)).rejects.toThrow(GatewayUnavailableError);
  });
});

describe('what a facilitator says', () => {
  const reply = (errorReason?: string): Parameters<typeof hasFailed>[0] => ({
    success: false,
    errorReason,
    transaction: '',
    network: '',
  });

  it.each([
    ['invalid_exact_evm_nonce_already_used', true],
    ['invalid_exact_evm_insufficient_balance', true],
    ['invalid_exact_evm_transaction_failed', false],
    ['duplicate_settlement', true],
    ['settlement_pending', false],
    ['network_unavailable', false],
    ['unexpected_settle_error', false],
    ['settlement_not_sent', false],
    ['queue_full', false],
    ['unauthorized', false],
    ['idempotency_key_conflict', false],
    ['something_of_another_facilitator', false],
    ['constructor', false],
    [undefined, false],
  ])('of a settlement: %s is final: %s', (reason, isFinal) => {
    expect(hasFailed(reply(reason))).toBe(isFinal);
  });

  it('of a payment may be another thing in a moment', () => {
    expect(['network_unavailable', 'queue_full', 'unauthorized'].every(isTransient)).toBe(true);
    const final = ['duplicate_settlement', 'invalid_exact_evm_insufficient_balance', 'x'];
    expect(final.some(isTransient)).toBe(false);
  });
});
