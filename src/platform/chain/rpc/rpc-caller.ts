import type { Isolation } from './isolated-queue.js';
import type { RpcOutcome } from './rpc-outcome.js';

/** What the rest of the chain room needs of an endpoint; a test may stand in for one. */
export interface RpcCaller {
  /** `<chainId>-<index>`, never a URL. */
  readonly name: string;
  /** Whether JSON-RPC batches are taken. */
  readonly acceptsBatches: boolean;
  /** Tries batches again, after a node that refused them once may have changed its mind. */
  retryBatches(): void;
  /**
   * Never throws: what came of a call is a value.
   *
   * @param apart - for calls that must not slow down those of others.
   */
  request(
    method: string,
    params: readonly unknown[],
    timeoutMs: number,
    apart?: Isolation,
  ): Promise<RpcOutcome>;
  close(): Promise<void>;
}
