import { describe, expect, it } from '@jest/globals';
import { type ParsedPayment, parsePayment, readEnvelope } from './parse-payment.js';
import { SIGNATURE_MAX_BYTES, TOKEN_NAME_MAX, TOKEN_VERSION_MAX } from './wire-values.js';

const ADDRESS = `0x${'11'.repeat(20)}`;
const requirements = {
  scheme: 'exact',
  network: 'eip155:56',
  asset: ADDRESS,
  payTo: ADDRESS,
  amount: '1000',
};

interface Sent {
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly signature?: string;
  readonly nonce?: string;
}

function parsed({
  extra = { name: 'USD', version: '1' },
  signature = `0x${'22'.repeat(65)}`,
  nonce = `0x${'33'.repeat(32)}`,
}: Sent): ParsedPayment {
  const body = {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      accepted: requirements,
      payload: {
        signature,
        authorization: {
          from: ADDRESS,
          to: ADDRESS,
          value: '1000',
          nonce,
          validAfter: '0',
          validBefore: '99999999999',
        },
      },
    },
    paymentRequirements: { ...requirements, extra },
  };
  const envelope = readEnvelope(body);
  if (envelope === undefined) throw new Error('no envelope');
  return parsePayment(envelope, [2], () => true);
}

function claimOf(sent: Sent): unknown {
  const result = parsed(sent);
  return result.ok ? result.payment.claim : result.reason;
}

describe('the texts of a payment are bounded', () => {
  it.each([
    ['name', { name: 'x'.repeat(TOKEN_NAME_MAX), version: '1' }],
    ['version', { name: 'USD', version: 'x'.repeat(TOKEN_VERSION_MAX) }],
  ])('extra.%s, and what is longer is no requirement', (field, longest) => {
    expect(parsed({ extra: longest }).ok).toBe(true);
    const longer = { ...longest, [field]: 'x'.repeat(1 + longest[field as 'name'].length) };
    expect(parsed({ extra: longer })).toMatchObject({
      ok: false,
      reason: 'invalid_payment_requirements',
    });
  });

  it('what is no text is left to the check that needs it', () => {
    for (const name of [{}, 5, null]) expect(parsed({ extra: { name } }).ok).toBe(true);
  });

  it('a signature above SIGNATURE_MAX_BYTES is not read', () => {
    const longest = `0x${'22'.repeat(SIGNATURE_MAX_BYTES)}`;
    expect(claimOf({ signature: longest })).toMatchObject({ signature: longest });
    expect(claimOf({ signature: `${longest}22` })).toMatchObject({ signature: undefined });
  });

  it('a nonce has 32 bytes', () => {
    expect(claimOf({ nonce: `0x${'33'.repeat(33)}` })).toMatchObject({ nonce: undefined });
  });
});
