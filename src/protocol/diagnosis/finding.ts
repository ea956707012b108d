/** One malformed field of a request. */
export interface Finding {
  /** Names from the body's root, joined by dots: `paymentPayload.payload.authorization.to`. */
  readonly path: string;
  /** The expected value, in words or as a value. */
  readonly expected: string;
  /**
   * The value as sent; an answer repeats it only through `echo` of `diagnosis.ts`. Absent where the field is absent.
   */
  readonly got?: unknown;
  /** The correction, if it is more than another value. */
  readonly fix?: string;
}
