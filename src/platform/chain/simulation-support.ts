import type { RpcOutcome } from './rpc/rpc-outcome.js';

interface Caller {
  request(method: string, params: readonly unknown[], timeoutMs: number): Promise<RpcOutcome>;
}

interface Known {
  readonly isSupported: boolean;
  readonly until: number;
}

/** The precompile that returns its input, so a call of it cannot fail. */
export const IDENTITY_PRECOMPILE = '0x0000000000000000000000000000000000000004';

const PROBE_TIMEOUT_MS = 2500;
/** Nodes are upgraded, and addresses may lead to other nodes. */
const YES_KEPT_MS = 10 * 60_000;
const NO_KEPT_MS = 60_000;
const SILENCE_KEPT_MS = 5000;

/** Which endpoints have `eth_simulateV1`. */
export class SimulationSupport {
  readonly #known = new WeakMap<Caller, Known>();
  readonly #probes = new WeakMap<Caller, Promise<boolean>>();

  async isSupported(endpoint: Caller): Promise<boolean> {
    const known = this.#known.get(endpoint);
    if (known !== undefined && known.until > performance.now()) return known.isSupported;
    const probe = this.#probes.get(endpoint) ?? this.#probe(endpoint);
    this.#probes.set(endpoint, probe);
    return probe;
  }

  /** It answered with something other than a simulation, so it is probed before the next one. */
  doubt(endpoint: Caller): void {
    this.#known.delete(endpoint);
  }

  async #probe(endpoint: Caller): Promise<boolean> {
    const calls = [{ to: IDENTITY_PRECOMPILE, data: '0x' }];
    const answer = await endpoint.request(
      'eth_simulateV1',
      [{ blockStateCalls: [{ calls }] }, 'latest'],
      PROBE_TIMEOUT_MS,
    );
    const isSupported = answer.kind === 'result' && Array.isArray(answer.value);
    const noKeptMs = answer.kind === 'silent' ? SILENCE_KEPT_MS : NO_KEPT_MS;
    const until = performance.now() + (isSupported ? YES_KEPT_MS : noKeptMs);
    this.#known.set(endpoint, { isSupported, until });
    this.#probes.delete(endpoint);
    return isSupported;
  }
}
