import { Counter, Histogram, type Registry } from 'prom-client';
import type { RpcObserver } from '../../platform/chain/rpc/rpc-observer.js';
import type { RpcOutcome } from '../../platform/chain/rpc/rpc-outcome.js';
import { caip2Of } from '../../protocol/payment/network.js';

/** Seconds. A node nearby answers in milliseconds; calls are given up after 2.5 s, sends after 5 s. */
const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Counts and times what endpoints are asked. Endpoints go by their place in `RPC_URLS`. */
export function rpcMetrics(registry: Registry): RpcObserver {
  const registers = [registry];
  const calls = new Counter({
    name: 'x402_rpc_calls_total',
    help: 'JSON-RPC calls by method and outcome: result, error, or why there was no answer.',
    labelNames: ['network', 'endpoint', 'method', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'x402_rpc_exchange_duration_seconds',
    help: 'Duration of one HTTP request to an endpoint, with up to 50 calls in it.',
    labelNames: ['network', 'endpoint'],
    buckets: BUCKETS,
    registers,
  });

  const disagreements = new Counter({
    name: 'x402_rpc_disagreements_total',
    help: 'Times RPC endpoints disagreed with each other, or one with itself, by subject.',
    labelNames: ['network', 'what'],
    registers,
  });

  const seen = new Set<string>();
  return {
    disagreed: ({ chainId, what }) => {
      disagreements.inc({ network: caip2Of(chainId), what });
    },
    exchanged: ({ endpoint: name, methods, outcomes, durationMs }) => {
      const [chainId, endpoint = ''] = name.split('-');
      const network = caip2Of(Number(chainId));
      // An increase is seen only of a series that was there before it.
      if (!seen.has(network)) disagreements.inc({ network, what: 'receipt' }, 0);
      seen.add(network);
      seconds.observe({ network, endpoint }, durationMs / 1000);
      for (const [method, outcome, count] of tally(methods, outcomes)) {
        calls.inc({ network, endpoint, method, outcome }, count);
      }
    },
  };
}

type Tally = readonly (readonly [method: string, outcome: string, count: number])[];

/** Most calls of an exchange are alike: they are counted in one go. */
function tally(methods: readonly string[], outcomes: readonly RpcOutcome[]): Tally {
  const counts = new Map<string, [string, string, number]>();
  methods.forEach((method, index) => {
    const outcome = nameOf(outcomes[index]);
    const counted = counts.get(method + outcome);
    if (counted === undefined) counts.set(method + outcome, [method, outcome, 1]);
    else counted[2] += 1;
  });
  return [...counts.values()];
}

function nameOf(outcome: RpcOutcome | undefined): string {
  if (outcome === undefined) return 'malformed';
  return outcome.kind === 'silent' ? outcome.cause : outcome.kind;
}
