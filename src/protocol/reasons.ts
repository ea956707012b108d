import { BATCH_SETTLEMENT_REASONS } from './reasons/batch-settlement-reasons.js';
import { EIP3009_REASONS } from './reasons/eip3009-reasons.js';
import { PERMIT2_REASONS } from './reasons/permit2-reasons.js';
import type { ReasonFacts } from './reasons/reason-facts.js';
import { REQUEST_REASONS } from './reasons/request-reasons.js';
import { SERVICE_REASONS } from './reasons/service-reasons.js';
import { UPTO_REASONS } from './reasons/upto-reasons.js';

export type { Fault, ReasonFacts, Retry } from './reasons/reason-facts.js';

/**
 * Every machine-readable reason of this service, combined from its families. `docs/errors.md` has them for
 * people, and a test compares the two. The strings are an interface: reasons of the reference are identical to its own,
 * so that sellers can switch facilitators without changes.
 */
export const REASONS = {
  ...REQUEST_REASONS,
  ...EIP3009_REASONS,
  ...PERMIT2_REASONS,
  ...UPTO_REASONS,
  ...BATCH_SETTLEMENT_REASONS,
  ...SERVICE_REASONS,
} as const satisfies Readonly<Record<string, ReasonFacts>>;

export type Reason = keyof typeof REASONS;
