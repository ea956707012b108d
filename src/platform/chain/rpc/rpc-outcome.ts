/** The outcome of one JSON-RPC call. */
export type RpcOutcome =
  | { readonly kind: 'result'; readonly value: unknown }
  /** The node answered with an error object (JSON-RPC 2.0 §5.1). */
  | { readonly kind: 'error'; readonly error: RpcError }
  /** No answer to this call: whether the node acted on it is unknown. */
  | { readonly kind: 'silent'; readonly cause: SilenceCause };

export interface RpcError {
  readonly code: number;
  /** The node's text. It is for classification and must not reach a client or a log. */
  readonly message: string;
  readonly data: unknown;
}

/** Causes of silence that say nothing about the question. */
export const BLAMELESS: ReadonlySet<SilenceCause> = new Set<SilenceCause>([
  'connection',
  'rate_limited',
  'not_sent',
  'wrong_chain',
]);

export type SilenceCause =
  | 'timeout'
  | 'connection'
  | 'http_status'
  | 'rate_limited'
  | 'malformed'
  /** It waited too long or behind too many calls, and was not sent. */
  | 'not_sent'
  /** The answer belongs to another chain and is dropped. */
  | 'wrong_chain';
