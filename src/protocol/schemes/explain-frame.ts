import type { Finding } from '../diagnosis/finding.js';
import type { Payment } from '../payment/payment.js';
import type { Reason } from '../reasons.js';
import type { ExplainFacts } from './scheme.js';
import { EXPIRY_MARGIN_SECONDS } from './verdict.js';

/** The path of the terms that the buyer accepted. V1 has no object for them. */
const acceptedRoot = ({ dialect }: Payment): string =>
  dialect.x402Version === 1 ? 'paymentPayload' : 'paymentPayload.accepted';

export const wrongScheme =
  (expected: string) =>
  (payment: Payment): Finding => ({
    path: `${acceptedRoot(payment)}.scheme`,
    expected,
    got: payment.accepted.scheme,
  });

export const wrongNetwork = (payment: Payment): Finding => ({
  path: `${acceptedRoot(payment)}.network`,
  expected: payment.requirements.networkAsSent,
  got: payment.accepted.network,
});

export const noContractAtAsset = ({ requirements }: Payment): Finding => ({
  path: 'paymentRequirements.asset',
  expected: `the address of a token on ${requirements.network}`,
  got: requirements.asset,
});

export const tooPoor = ({ requirements }: Payment, path: string, payer: unknown): Finding => ({
  path,
  expected: `a payer with ${requirements.amount} atomic units of ${requirements.asset} to spend`,
  got: payer,
});

/** @param now - Unix seconds. */
export const earliestEnd = (now: number): string =>
  `at least ${BigInt(now) + EXPIRY_MARGIN_SECONDS} (Unix seconds)`;

export const tooLate = (path: string, got: bigint, { now }: ExplainFacts): Finding => ({
  path,
  expected: earliestEnd(now),
  got,
  fix: 'Sign with a later time; compare the clocks.',
});

/** In time by itself, but not for this deployment now: its estimate is not known here. */
export const tooClose = (path: string, got: bigint): Finding => ({
  path,
  expected:
    'a time that is late enough for the waiting settlements and this settlement to be mined',
  got,
  fix: 'Sign with a later time: a seller raises maxTimeoutSeconds.',
});

export const tooEarly = (path: string, got: bigint, { now }: ExplainFacts): Finding => ({
  path,
  expected: `at most ${now - 1} (Unix seconds), and before the newest block of the chain`,
  got,
  fix: 'Sign with a time of a minute ago: blocks are behind the clock.',
});

/** The fix for an invalid signature. Names of tokens are not repeated, because callers choose them. */
export function domainFix({ requirements }: Payment): string {
  const { chainId, asset } = requirements;
  return `Sign in the domain of chainId ${chainId}, verifyingContract ${asset}, name and version of paymentRequirements.extra.`;
}

/** An explanation for each reason that has one place in the request. */
export type Explanations<C> = Readonly<
  Partial<Record<Reason, (payment: Payment, claim: C, facts: ExplainFacts) => Finding>>
>;
