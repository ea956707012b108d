import { StatedProblem } from '../../platform/http/stated-problem.js';
import type { Reason } from '../../protocol/reasons.js';
import { SIMULATED_OUTCOMES } from './outcomes.js';

const REFUSALS = {
  unknown: {
    status: 400,
    reason: 'invalid_payload',
    message: `X-Simulate must be one of ${SIMULATED_OUTCOMES.join(', ')}. Nothing was settled.`,
  },
  scope: {
    status: 403,
    reason: 'forbidden',
    message: 'X-Simulate needs an API key with the scope simulate. Nothing was settled.',
  },
  network: {
    status: 400,
    reason: 'invalid_network',
    message: 'X-Simulate is for test networks only. Nothing was settled.',
  },
  finality: {
    status: 400,
    reason: 'invalid_payload',
    message:
      'X-Simulate: a reorg needs Settle-Finality: included, because a final block is not replaced. Nothing was settled.',
  },
  payment: {
    status: 400,
    reason: 'invalid_payload',
    message: 'X-Simulate: this payment would never be sent, so there is nothing to simulate.',
  },
  full: {
    status: 429,
    reason: 'rate_limited',
    message: 'X-Simulate: too many simulated settlements of this API key. Nothing was settled.',
  },
} as const satisfies Readonly<
  Record<string, { readonly status: number; readonly reason: Reason; readonly message: string }>
>;

/** A simulation request that is refused, and is not treated as a real settle either. */
export class SimulationRefused extends StatedProblem {
  constructor(why: keyof typeof REFUSALS) {
    const { status, reason, message } = REFUSALS[why];
    super(status, reason, message);
  }
}
