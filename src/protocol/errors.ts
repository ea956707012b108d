/** Errors that inner code cannot handle. A refused payment is never one of them. */
export abstract class FacilitatorError extends Error {
  abstract readonly code: string;
}

/** No endpoint of a chain answered. This says nothing about any payment. */
export class ChainUnavailableError extends FacilitatorError {
  readonly code = 'chain_unavailable';

  constructor(
    readonly chainId: number,
    readonly operation: string,
    message = `no endpoint of chain ${chainId} answered ${operation}`,
  ) {
    super(message);
    this.name = 'ChainUnavailableError';
  }
}

/**
 * Two endpoints of a chain disagree, so one of them is wrong. The read is retried; neither answer is used
 * before they agree.
 */
export class EndpointsDisagreeError extends ChainUnavailableError {
  constructor(chainId: number, operation: string) {
    super(chainId, operation, `endpoints of chain ${chainId} disagree: ${operation}`);
    this.name = 'EndpointsDisagreeError';
  }
}

/** An endpoint has proved that it lacks an ability, so it does not count in quorums that need it. */
export class CannotAnswerError extends ChainUnavailableError {
  constructor(chainId: number, operation: string) {
    super(chainId, operation);
    this.name = 'CannotAnswerError';
  }
}

/** One call has no answer, and the node is not the cause. Such a call is repeated alone. */
export abstract class CallUnansweredError extends ChainUnavailableError {}

/** A node answers, but not for a call of this contract. It says nothing about any payment. */
export class CodeUnresponsiveError extends CallUnansweredError {
  constructor(chainId: number, operation: string) {
    super(chainId, operation);
    this.name = 'CodeUnresponsiveError';
  }
}

/**
 * A call waited too long, or behind too many, and was never sent. This says nothing about node or code: other calls may
 * have filled the queue.
 */
export class CallNotSentError extends CallUnansweredError {
  constructor(chainId: number, operation: string) {
    super(chainId, operation);
    this.name = 'CallNotSentError';
  }
}

/** The ledger (Redis) did not answer, or not in time: a write may have happened. */
export class RedisUnavailableError extends FacilitatorError {
  readonly code: string = 'ledger_unavailable';

  constructor(operation: string, cause: unknown) {
    super(`Redis did not answer: ${operation}`, { cause });
    this.name = 'RedisUnavailableError';
  }
}

/**
 * The ledger returned to an earlier state since the last call: a failover, a restore, a flush. Nothing was written.
 * This process has to compare its own state with it again.
 */
export class LedgerEpochChangedError extends RedisUnavailableError {
  override readonly code = 'ledger_epoch_changed';

  constructor(operation: string) {
    super(operation, 'the ledger is of another epoch');
    this.name = 'LedgerEpochChangedError';
  }
}

/** Records that left the ledger are in the archive, which is unavailable now. This says nothing about any settlement. */
export class ArchiveUnavailableError extends FacilitatorError {
  readonly code = 'archive_unavailable';

  constructor(readonly query: string) {
    super(`the archive did not answer a look-up by ${query}`);
    this.name = 'ArchiveUnavailableError';
  }
}

/** This process no longer holds a lane: another one does, or will. */
export class LeaseLostError extends FacilitatorError {
  readonly code = 'lease_lost';

  constructor(readonly lane: string) {
    super(`the lease of lane ${lane} is lost`);
    this.name = 'LeaseLostError';
  }
}

/** The service cannot start with the settings it was given; the message names the setting. */
export class StartError extends FacilitatorError {
  readonly code = 'start_failed';

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StartError';
  }
}
