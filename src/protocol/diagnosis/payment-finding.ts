import type { Payment } from '../payment/payment.js';
import type { Reason } from '../reasons.js';
import { rulesOf } from '../schemes/registry.js';
import type { Finding } from './finding.js';

/**
 * The wrong place in a parsed payment: by the rules of its scheme for this reason, otherwise by those of this service.
 *
 * @param now - Unix seconds.
 */
export function paymentFinding(reason: Reason, payment: Payment, now: number): Finding | undefined {
  const { claim } = payment;
  return rulesOf(claim).explain?.(reason, payment, claim, { now }) ?? OWN[reason]?.(payment);
}

type Own = (payment: Payment) => Finding;

const tokenThatPays: Own = ({ requirements }) => ({
  path: 'paymentRequirements.asset',
  expected: 'a token whose transfers credit the payee within the gas limit',
  got: requirements.asset,
});

const OWN: Readonly<Partial<Record<Reason, Own>>> = {
  amount_too_small: ({ requirements, dialect }) => ({
    path: `paymentRequirements.${dialect.x402Version === 1 ? 'maxAmountRequired' : 'amount'}`,
    expected: 'at least the minimum of this deployment, in atomic units',
    got: requirements.amount,
    fix: 'Compare the decimals of the token.',
  }),
  payment_to_oneself: ({ requirements }) => ({
    path: 'paymentRequirements.payTo',
    expected: 'an account other than the payer',
    got: requirements.payTo,
  }),
  asset_not_allowed: ({ requirements }) => ({
    path: 'paymentRequirements.asset',
    expected: 'an asset served here',
    got: requirements.asset,
  }),
  payee_not_allowed: ({ requirements }) => ({
    path: 'paymentRequirements.payTo',
    expected: 'a payee served here',
    got: requirements.payTo,
  }),
  asset_suspended: tokenThatPays,
  gas_limit_exceeded: tokenThatPays,
};
