import { describe, expect, it } from '@jest/globals';
import {
  anEip3009Payment,
  NOW,
  PAYEE,
  TOKEN,
} from '../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { anUptoPayment, UPTO_LANE } from '../../../test/builders/protocol/schemes/upto/upto.js';
import type { Reason } from '../reasons.js';
import type { Finding } from './finding.js';
import { paymentFinding } from './payment-finding.js';

const REQUIREMENTS = 'paymentRequirements';
const SMALL = {
  expected: 'at least the minimum of this deployment, in atomic units',
  got: 1000n,
  fix: 'Compare the decimals of the token.',
};
const PAYS = 'a token whose transfers credit the payee within the gas limit';

describe('what is wrong with a payment that was read', () => {
  it.each<[Reason, 1 | 2, Finding]>([
    ['amount_too_small', 1, { path: `${REQUIREMENTS}.maxAmountRequired`, ...SMALL }],
    ['amount_too_small', 2, { path: `${REQUIREMENTS}.amount`, ...SMALL }],
    [
      'payment_to_oneself',
      2,
      {
        path: `${REQUIREMENTS}.payTo`,
        expected: 'an account other than the payer',
        got: PAYEE,
      },
    ],
    [
      'asset_not_allowed',
      2,
      { path: `${REQUIREMENTS}.asset`, expected: 'an asset served here', got: TOKEN },
    ],
    [
      'payee_not_allowed',
      1,
      { path: `${REQUIREMENTS}.payTo`, expected: 'a payee served here', got: PAYEE },
    ],
    ['asset_suspended', 2, { path: `${REQUIREMENTS}.asset`, expected: PAYS, got: TOKEN }],
    ['gas_limit_exceeded', 1, { path: `${REQUIREMENTS}.asset`, expected: PAYS, got: TOKEN }],
  ])('by this service: %s in V%i', (reason, version, finding) => {
    const { payment } = anEip3009Payment({ version });
    expect(paymentFinding(reason, payment, NOW)).toStrictEqual(finding);
  });

  it('by its scheme, at the time it is judged', () => {
    const { payment } = anEip3009Payment();
    const late = 'invalid_exact_evm_payload_authorization_valid_before';
    const expected = (now: number): string => `at least ${now + 6} (Unix seconds)`;
    for (const now of [NOW, NOW + 100]) {
      expect(paymentFinding(late, payment, now)).toMatchObject({ expected: expected(now) });
    }
  });

  it('by the scheme it is of, and no other', async () => {
    const upto = await anUptoPayment();
    const { payment: exact } = anEip3009Payment();
    const reason = 'upto_facilitator_mismatch';
    expect(paymentFinding(reason, upto, NOW)).toMatchObject({ got: UPTO_LANE });
    expect(paymentFinding(reason, exact, NOW)).toBeUndefined();
    expect(paymentFinding('asset_not_allowed', upto, NOW)).toBeDefined();
  });

  it.each<Reason>(['duplicate_settlement', 'settlement_pending', 'network_unavailable'])(
    'is no place in the request: %s',
    (reason) => {
      expect(paymentFinding(reason, anEip3009Payment().payment, NOW)).toBeUndefined();
    },
  );
});
