import type { Reason } from '../../protocol/reasons.js';

/** A refusal whose text may be shown to the caller, whatever is usually said with its status. */
export class StatedProblem extends Error {
  constructor(
    readonly status: number,
    readonly reason: Reason,
    message: string,
  ) {
    super(message);
  }
}
