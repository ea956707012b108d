/** Receives every finished HTTP request, for metrics. */
export interface ResponseObserver {
  /**
   * @param route - the matched pattern, such as `/v2/settlements/:id`; `undefined` without a match.
   * @param status - `undefined` if the client closed the connection before the end of the answer.
   */
  responded(route: string | undefined, status: number | undefined): void;
}

export const ResponseObserver = Symbol('ResponseObserver');

/**
 * Statuses from 500 on that are not failures of the service: 501, a feature is off; 503, a dependency is unavailable;
 * 599, a refusal of the file hub.
 */
const MEANT = new Set([501, 503, 599]);

/** Whether a status is a failure of the service. */
export function isFault(status: number): boolean {
  return status >= 500 && !MEANT.has(status);
}
