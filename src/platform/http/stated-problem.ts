import type { Reason } from '../../protocol/reasons.js';

/** A refusal whose text is shown to the caller instead of the usual text of its status. */
export class StatedProblem extends Error {
  constructor(
    readonly status: number,
    readonly reason: Reason,
    message: string,
    /** The place of the fault in the request, with the expected and the given value. */
    readonly place?: object,
  ) {
    super(message);
  }
}
