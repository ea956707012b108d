import type { IncomingMessage } from 'node:http';
import { callerOf, maySimulate } from '../../platform/http/access.js';
import { isSimulatedOutcome, type SimulatedOutcome } from './outcomes.js';
import { SimulationRefused } from './simulation-refused.js';

/** The simulation that a request asks for, and its API key. */
export interface AskedSimulation {
  readonly outcome: SimulatedOutcome;
  /** Id of the API key. */
  readonly caller: string;
}

/**
 * Reads `X-Simulate`. A request with this header is never a real settle, whatever its value.
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

/** Header of a simulated answer, so that no reader takes it for a real settlement. */
export const SIMULATED = { 'X-Simulated': 'true' } as const;
