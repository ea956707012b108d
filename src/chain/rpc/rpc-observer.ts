import type { RpcOutcome } from './rpc-outcome.js';

/** What happened to one HTTP exchange; for metrics. */
export interface RpcObserver {
  exchanged(exchange: {
    /** `<chainId>-<index>`, never a URL. */
    readonly endpoint: string;
    readonly methods: readonly string[];
    /** One for each method, in the same order. */
    readonly outcomes: readonly RpcOutcome[];
    readonly durationMs: number;
  }): void;
}

export const RpcObserver = Symbol('RpcObserver');
