import type { IncomingMessage, ServerResponse } from 'node:http';
import { callerOf, maySimulate } from '../../platform/http/access.js';
import { isSimulatedOutcome, type SimulatedOutcome } from './outcomes.js';
import { SimulationRefused } from './simulation-refused.js';

/** What a request wants to have played, and for whom. */
export interface AskedSimulation {
  readonly outcome: SimulatedOutcome;
  /** Id of the API key. */
  readonly caller: string;
}

/**
 * Reads `X-Simulate`, whatever it holds: a request that has it is never a real one.
 *
 * @returns `undefined` for a request without it.
 * @throws SimulationRefused for a key without the scope, and for an unknown value.
 */
export function simulationAsked(request: IncomingMessage): AskedSimulation | undefined {
  const sent = request.headers['x-simulate'];
  if (sent === undefined) return undefined;
  const caller = callerOf(request);
  if (caller === undefined || !maySimulate(request)) throw new SimulationRefused('scope');
  const outcome = sent.toString().trim().toLowerCase();
  if (!isSimulatedOutcome(outcome)) throw new SimulationRefused('unknown');
  return { outcome, caller };
}

/** Marks the answer, so that no reader takes it for a real settlement. */
export function markSimulated(response: ServerResponse): void {
  response.setHeader('X-Simulated', 'true');
}
