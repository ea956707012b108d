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
import type { Finding } from '../../diagnosis/finding.js';
import type { UptoClaim } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import { UPTO_EXPLANATIONS } from './upto.js';

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
