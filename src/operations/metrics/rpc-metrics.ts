import { Injectable } from '@nestjs/common';
import { Counter, Histogram, Registry } from 'prom-client';
import type { RpcObserver } from '../../platform/chain/rpc/rpc-observer.js';
import type { RpcOutcome } from '../../platform/chain/rpc/rpc-outcome.js';
import { caip2Of } from '../../protocol/payment/network.js';

/** Seconds. A node nearby answers in milliseconds; calls time out after 2.5 s, sends after 5 s. */
const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Counts and times the calls to endpoints. Endpoints are named by their position in `RPC_URLS`. */
@Injectable()
export class RpcMetrics implements RpcObserver {
  readonly #calls: Counter<'network' | 'endpoint' | 'method' | 'outcome'>;
  readonly #seconds: Histogram<'network' | 'endpoint'>;
  readonly #disagreements: Counter<'network' | 'what'>;
  readonly #seen = new Set<string>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.#calls = new Counter({
      name: 'x402_rpc_calls_total',
      help: 'JSON-RPC calls by method and outcome: result, error, or why there was no answer.',
      labelNames: ['network', 'endpoint', 'method', 'outcome'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'x402_rpc_exchange_duration_seconds',
      help: 'Duration of one HTTP request to an endpoint, with up to 50 calls in it.',
      labelNames: ['network', 'endpoint'],
      buckets: BUCKETS,
      registers,
    });
    this.#disagreements = new Counter({
      name: 'x402_rpc_disagreements_total',
      help: 'Times RPC endpoints disagreed with each other, or one with itself, by subject.',
      labelNames: ['network', 'what'],
      registers,
    });
  }

  disagreed({ chainId, what }: Parameters<RpcObserver['disagreed']>[0]): void {
    this.#disagreements.inc({ network: caip2Of(chainId), what });
  }

  exchanged({
    endpoint: name,
    methods,
    outcomes,
    durationMs,
  }: Parameters<RpcObserver['exchanged']>[0]): void {
    const [chainId, endpoint = ''] = name.split('-');
    const network = caip2Of(Number(chainId));
    // Prometheus sees an increase only if the series existed before it.
    if (!this.#seen.has(network)) this.#disagreements.inc({ network, what: 'receipt' }, 0);
    this.#seen.add(network);
    this.#seconds.observe({ network, endpoint }, durationMs / 1000);
    for (const [method, outcome, count] of tally(methods, outcomes)) {
      this.#calls.inc({ network, endpoint, method, outcome }, count);
    }
  }
}

type Tally = readonly (readonly [method: string, outcome: string, count: number])[];

/** Most calls of an exchange are alike, so they are counted together. */
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
