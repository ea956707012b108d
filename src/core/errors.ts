/** Errors that a caller inside cannot decide about. What a payment is refused for is never one of them. */
export abstract class FacilitatorError extends Error {
  abstract readonly code: string;
}

/** No endpoint of a chain could be asked. Says nothing about any payment. */
export class ChainUnavailableError extends FacilitatorError {
  readonly code = 'chain_unavailable';

  constructor(
    readonly chainId: number,
    readonly operation: string,
  ) {
    super(`no endpoint of chain ${chainId} answered ${operation}`);
    this.name = 'ChainUnavailableError';
  }
}

/** The ledger (Redis) could not be asked, or did not answer in time: a write may have happened. */
export class LedgerUnavailableError extends FacilitatorError {
  readonly code = 'ledger_unavailable';

  constructor(operation: string, cause: unknown) {
    super(`the ledger did not answer ${operation}`, { cause });
    this.name = 'LedgerUnavailableError';
  }
}

/** This process is not the writer of a lane any more: another one works on it now, or will. */
export class LeaseLostError extends FacilitatorError {
  readonly code = 'lease_lost';

  constructor(readonly lane: string) {
    super(`the lease of lane ${lane} is lost`);
    this.name = 'LeaseLostError';
  }
}
