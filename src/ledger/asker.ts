/** One HTTP request for a settle, as the ledger knows it. */
export interface Asker {
  /** `<process>.<number>`; neither part holds `.` or `|`. */
  readonly id: string;
  /** Tag of its idempotency key and the key's scope, or empty. */
  readonly keyTag: string;
  /** Milliseconds since the epoch at which the request began to arrive. */
  readonly arrivedAt: number;
}
