import type { Isolation } from './isolated-queue.js';
import type { RpcOutcome } from './rpc-outcome.js';

/** The part of an endpoint that this room uses; tests may replace it. */
export interface RpcCaller {
  /** `<chainId>-<index>`, never a URL. */
  readonly name: string;
  /** Whether JSON-RPC batches are taken. */
  readonly acceptsBatches: boolean;
  /** Tries batches again, because a node that refused them may support them later. */
  retryBatches(): void;
  /**
   * Never throws: the outcome of a call is a value.
   *
   * @param apart - for calls that must not slow down others.
   */
  request(
    method: string,
    params: readonly unknown[],
    timeoutMs: number,
    apart?: Isolation,
  ): Promise<RpcOutcome>;
  close(): Promise<void>;
}
