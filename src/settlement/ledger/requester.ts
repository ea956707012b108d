import { hashOf } from '../../protocol/payment/hash.js';

/** One HTTP request for a settle. */
export interface Requester {
  /**
   * `<processId>.<number>`, unique for ever. Every step names its requester, so that it can be repeated after a lost
   * reply. Neither part contains `.`, `|`, `,` or `:`.
   */
  readonly id: string;
  /** Hash of the idempotency key and its scope; empty without a key. */
  readonly keyTag: string;
  /**
   * Hashes of the idempotency key, the API key and the client address. A later requester with one of these has the
   * rights of the early one.
   */
  readonly credentials: readonly string[];
  /** Milliseconds since the epoch at which the request began to arrive. */
  readonly arrivedAt: number;
}

interface RequesterMarks {
  readonly keyTag: string;
  /** Id of the API key, if there is one. */
  readonly apiKeyId: string | undefined;
  /** The client address, for IPv6 its /64; `undefined` if not known. */
  readonly address: string | undefined;
}

export function credentialsOf({ keyTag, apiKeyId, address }: RequesterMarks): readonly string[] {
  return [
    ...(keyTag === '' ? [] : [keyTag]),
    ...(apiKeyId === undefined ? [] : [hashOf(['api-key', apiKeyId])]),
    ...(address === undefined ? [] : [hashOf(['address', address])]),
  ];
}
