/** What is wrong in one place of a request. */
export interface Finding {
  /** Names from the body's root, joined by dots: `paymentPayload.payload.authorization.to`. */
  readonly path: string;
  /** What a good value is, in words or as a value. */
  readonly expected: string;
  /** The value as it came; repeated in an answer only as `echo.ts` lets it. Absent where it is none. */
  readonly got?: unknown;
  /** What to do about it, where that is more than to correct the value. */
  readonly fix?: string;
}
