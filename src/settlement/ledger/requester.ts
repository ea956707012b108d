import { hashOf } from '../../protocol/payment/hash.js';

/** One HTTP request for a settle, as the ledger knows it. */
export interface Requester {
  /**
   * `<processId>.<number>`, unique for ever: every step says whose it is, so that it can be repeated when
   * its answer was lost. Neither part holds `.`, `|`, `,` or `:`.
   */
  readonly id: string;
  /** Tag of its idempotency key and the key's scope, or empty. */
  readonly keyTag: string;
  /**
   * Who it is, as hashes: its idempotency key, its API key, its client address. A later requester with one
   * of these may have what an early one could.
   */
  readonly credentials: readonly string[];
  /** Milliseconds since the epoch at which the request began to arrive. */
  readonly arrivedAt: number;
}

interface RequesterMarks {
  readonly keyTag: string;
  /** Id of the API key, where there is one. */
  readonly apiKeyId: string | undefined;
  /** The client's address, IPv6 cut to its /64; `undefined` when it is not known. */
  readonly address: string | undefined;
}

export function credentialsOf({ keyTag, apiKeyId, address }: RequesterMarks): readonly string[] {
  return [
    ...(keyTag === '' ? [] : [keyTag]),
    ...(apiKeyId === undefined ? [] : [hashOf(['api-key', apiKeyId])]),
    ...(address === undefined ? [] : [hashOf(['address', address])]),
  ];
}
