import { explain } from '../../protocol/diagnosis/diagnosis.js';
import { paymentFinding } from '../../protocol/diagnosis/payment-finding.js';
import type { SchemeContracts } from '../../protocol/evm/contracts.js';
import type { TrialSigner } from '../../protocol/evm/token/token-trials.js';
import { parsePayment } from '../../protocol/payment/parse-payment.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import type { Offer } from './checks/offer.js';
import type { DoctorFinding } from './dto/doctor-report.response.js';
import { about } from './finding.js';
import { trialPayment } from './trial-payment.js';

/** Verifies a payment without settling it. @returns the reason for a refusal, or `undefined`. */
type Verify = (payment: Payment) => Promise<Reason | undefined>;

/** Reasons for which a payer without money is refused after all other checks have passed. */
const LACKS_MONEY: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_exact_evm_insufficient_balance',
  'permit2_insufficient_balance',
  'permit2_allowance_required',
]);
/** Reasons that say nothing about the offer. */
const NOT_NOW: ReadonlySet<Reason> = new Set<Reason>([
  'network_unavailable',
  'unexpected_verify_error',
]);

/**
 * Verifies a payment of a key that owns nothing. A good offer is refused for lack of money, and for nothing else.
 *
 * @param now - Unix seconds.
 */
export async function dryRun(
  offer: Offer,
  verify: Verify,
  {
    signer,
    contracts,
    now,
  }: {
    readonly signer: TrialSigner;
    readonly contracts: SchemeContracts;
    readonly now: number;
  },
): Promise<DoctorFinding | undefined> {
  const envelope = await trialPayment(offer, signer, contracts, now);
  const parsed = parsePayment(envelope, [offer.version], () => true, 'verify');
  const reason = parsed.ok ? await verify(parsed.payment) : parsed.reason;
  if (reason === undefined) {
    return about('everybody_can_pay', 'error', {
      path: `${offer.path}.asset`,
      expected: 'a token that refuses a payer without balance',
      got: offer.asset,
      fix: 'Name another token: this one lets an empty account pay.',
    });
  }
  if (LACKS_MONEY.has(reason)) return undefined;
  const finding = parsed.ok ? paymentFinding(reason, parsed.payment, now) : undefined;
  return about('verify_refuses', NOT_NOW.has(reason) ? 'warning' : 'error', {
    path: offer.path,
    expected: 'a test payment is refused for insufficient balance only',
    got: reason,
    fix: NOT_NOW.has(reason)
      ? 'Check again later: the test payment could not be tried now.'
      : explain(reason, finding).message,
  });
}
