import type { RpcOutcome } from './rpc-outcome.js';

/** Counts requests to endpoints and their results; for metrics. */
export interface RpcObserver {
  /** One HTTP exchange. */
  exchanged(exchange: {
    /** `<chainId>-<index>`, never a URL. */
    readonly endpoint: string;
    readonly methods: readonly string[];
    /** One for each method, in the same order. */
    readonly outcomes: readonly RpcOutcome[];
    readonly durationMs: number;
  }): void;
  /** Endpoints disagreed, or one disagreed with itself. */
  disagreed(facts: {
    readonly chainId: number;
    /** One of a few fixed names: head, finalized block, receipt, … */
    readonly what: string;
  }): void;
}

export const RpcObserver = Symbol('RpcObserver');
