/** Told of every HTTP request when it is over; for metrics. */
export interface ResponseObserver {
  /**
   * @param route - the pattern that matched, as `/v2/settlements/:id`; `undefined` when none did.
   * @param status - `undefined` when the client closed the connection before the answer was finished.
   */
  responded(route: string | undefined, status: number | undefined): void;
}

export const ResponseObserver = Symbol('ResponseObserver');

/** What a service answers on purpose: 501, it is not turned on; 503, something near is away; 599, a refusal of the file hub. */
const MEANT = new Set([501, 503, 599]);

/** Whether an answer of this status is a fault of the service. */
export function isFault(status: number): boolean {
  return status >= 500 && !MEANT.has(status);
}
