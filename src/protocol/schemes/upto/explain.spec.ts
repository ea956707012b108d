import { describe, expect, it } from '@jest/globals';
import { sponsoredBy } from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import {
  anUptoPayment,
  UPTO_LANE,
  UPTO_NOW,
  UPTO_PAYEE,
  UPTO_PAYER,
  UPTO_TOKEN,
  type UptoOptions,
} from '../../../../test/builders/protocol/schemes/upto/upto.js';
import { firstBrokenField } from '../../diagnosis/fields.js';
import type { Finding } from '../../diagnosis/finding.js';
import { UPTO_PERMIT2_PROXY } from '../../evm/contracts.js';
import type { UptoClaim } from '../../payment/payment.js';
import type { JsonObject } from '../../payment/wire-values.js';
import type { Reason } from '../../reasons.js';
import { UPTO_EXPLANATIONS, UPTO_FIELDS } from './explain.js';
import { readUptoClaim } from './read-claim.js';

const PERMIT = 'paymentPayload.payload.permit2Authorization';
const ACCEPTED = 'paymentPayload.accepted';

async function findingOf(reason: Reason, options: UptoOptions): Promise<Finding | undefined> {
  const payment = await anUptoPayment(options);
  return UPTO_EXPLANATIONS[reason]?.(payment, payment.claim as UptoClaim, { now: UPTO_NOW });
}

describe('what is wrong with a payment of upto', () => {
  it.each<[Reason, UptoOptions, Finding]>([
    [
      'invalid_upto_evm_scheme',
      { accepted: { scheme: 'exact' } },
      { path: `${ACCEPTED}.scheme`, expected: 'upto', got: 'exact' },
    ],
    [
      'invalid_upto_evm_network_mismatch',
      { accepted: { network: 'eip155:97' } },
      { path: `${ACCEPTED}.network`, expected: 'eip155:56', got: 'eip155:97' },
    ],
    [
      'upto_facilitator_mismatch',
      {},
      {
        path: `${PERMIT}.witness.facilitator`,
        expected: 'extra.facilitatorAddress of /supported',
        got: UPTO_LANE,
      },
    ],
    [
      'invalid_upto_evm_payload_settlement_exceeds_amount',
      { amount: '1001' },
      {
        path: 'paymentRequirements.amount',
        expected: 'at most 1000, which the payer signed',
        got: 1001n,
      },
    ],
    // As the proxy says it.
    [
      'upto_amount_exceeds_permitted',
      { amount: '1001' },
      {
        path: 'paymentRequirements.amount',
        expected: 'at most 1000, which the payer signed',
        got: 1001n,
      },
    ],
    // The proxy compares what the two permits allow, whatever is charged.
    [
      'permit2_2612_amount_mismatch',
      { amount: '400', extensions: sponsoredBy({ amount: '400' }) },
      {
        path: 'paymentPayload.extensions.eip2612GasSponsoring.info.amount',
        expected: '1000, the permitted amount',
        got: '400',
      },
    ],
    [
      'permit2_invalid_amount',
      { amount: '0', permitted: { amount: '0' } },
      { path: `${PERMIT}.permitted.amount`, expected: 'an amount above 0', got: 0n },
    ],
    // As any payment by Permit2.
    [
      'invalid_permit2_recipient_mismatch',
      { witness: { to: UPTO_PAYER } },
      { path: `${PERMIT}.witness.to`, expected: UPTO_PAYEE, got: UPTO_PAYER },
    ],
    // What the payer has to have is what is charged, not what it signed.
    [
      'permit2_insufficient_balance',
      { amount: '400' },
      {
        path: `${PERMIT}.from`,
        expected: `a payer with 400 atomic units of ${UPTO_TOKEN} to spend`,
        got: UPTO_PAYER,
      },
    ],
  ])('%s', async (reason, options, finding) => {
    expect(await findingOf(reason, options)).toStrictEqual(finding);
  });

  it.each<Reason>([
    'invalid_exact_evm_scheme',
    'invalid_exact_evm_network_mismatch',
    'permit2_simulation_failed',
    // It is no fault of the request.
    'upto_unauthorized_facilitator',
  ])('says nothing of %s', async (reason) => {
    expect(await findingOf(reason, {})).toBeUndefined();
  });
});

describe('what each field of a payload of upto has to be', () => {
  const GOOD = {
    signature: '0x12',
    permit2Authorization: {
      from: UPTO_PAYER,
      permitted: { token: UPTO_TOKEN, amount: '1000' },
      spender: UPTO_PERMIT2_PROXY,
      nonce: '77',
      deadline: '99',
      witness: { to: UPTO_PAYEE, facilitator: UPTO_LANE, validAfter: '0' },
    },
  };
  const address = 'an address: 0x and 40 hexadecimal digits';
  const integer = 'a whole number as decimal text';

  /** The good payload with another value at a place. */
  function withValue(path: string, value: unknown): JsonObject {
    const copy = structuredClone({ payload: GOOD }) as JsonObject;
    const names = path.split('.');
    const last = names.pop() ?? '';
    let at = copy as Record<string, unknown>;
    for (const name of names) at = at[name] as Record<string, unknown>;
    at[last] = value;
    return copy;
  }

  it('is kept by a good one', () => {
    expect(firstBrokenField('paymentPayload', { payload: GOOD }, UPTO_FIELDS)).toBeUndefined();
    expect(readUptoClaim({ payload: GOOD })).toMatchObject({ facilitator: UPTO_LANE });
  });

  it.each<[string, unknown, string]>([
    ['payload', null, 'an object'],
    ['payload.signature', 7, 'the signature as hexadecimal text'],
    ['payload.permit2Authorization', [], 'an object'],
    ['payload.permit2Authorization.permitted', 'x', 'an object'],
    ['payload.permit2Authorization.witness', undefined, 'an object'],
    ['payload.permit2Authorization.from', '0x1', address],
    ['payload.permit2Authorization.spender', 1, address],
    ['payload.permit2Authorization.permitted.token', 'USD', address],
    ['payload.permit2Authorization.witness.to', undefined, address],
    ['payload.permit2Authorization.witness.facilitator', undefined, address],
    ['payload.permit2Authorization.witness.facilitator', `${UPTO_LANE}0`, address],
    ['payload.permit2Authorization.permitted.amount', '1.5', integer],
    ['payload.permit2Authorization.nonce', 'seven', integer],
    ['payload.permit2Authorization.deadline', '', integer],
    ['payload.permit2Authorization.witness.validAfter', '0x', integer],
    // What is a whole number, but no text.
    ['payload.permit2Authorization.permitted.amount', 1000, 'text'],
    ['payload.permit2Authorization.nonce', 77, 'text'],
    ['payload.permit2Authorization.deadline', 99, 'text'],
    ['payload.permit2Authorization.witness.validAfter', 0, 'text'],
  ])('is broken by %s of %j', (path, value, expected) => {
    const payload = withValue(path, value);
    const finding = firstBrokenField('paymentPayload', payload, UPTO_FIELDS);
    expect(finding).toStrictEqual({ path: `paymentPayload.${path}`, expected, got: value });
    expect(readUptoClaim(payload)).toBeUndefined();
  });
});
