/** Told of jobs, for traces. A job carries what its request belongs to, through Redis and to any process. */
export interface JobObserver {
  /**
   * Asked when a job is added, in the request that adds it.
   *
   * @returns the request's span as `traceparent` (W3C Trace Context §3.2); `undefined` where it is not traced.
   */
  traceOfRequest(): string | undefined;

  /** @param traceparent - what {@link traceOfRequest} returned. */
  finished(chainId: number, settlementId: string, traceparent: string): void;
}

export const JobObserver = Symbol('JobObserver');

/** Where nothing is traced. */
export const NO_TRACES: JobObserver = {
  traceOfRequest: () => undefined,
  finished: () => undefined,
};
