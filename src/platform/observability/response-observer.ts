/** Told of every HTTP request when it is over; for metrics. */
export interface ResponseObserver {
  /**
   * @param route - the pattern that matched, as `/v2/settlements/:id`; `undefined` when none did.
   * @param status - `undefined` when the client closed the connection before the answer was finished.
   */
  responded(route: string | undefined, status: number | undefined): void;
}

export const ResponseObserver = Symbol('ResponseObserver');
