import { FacilitatorError } from '../protocol/errors.js';

/** Storage cannot be used now, or it is not known whether something was stored. Worth another try. */
export class StorageUnavailableError extends FacilitatorError {
  readonly code = 'storage_unavailable';

  constructor(operation: string, cause?: unknown) {
    super(`the hub's storage did not do ${operation}`, { cause });
    this.name = 'StorageUnavailableError';
  }
}

/**
 * The index is being rebuilt, or Redis does not answer: a file that is not found now may well
 * exist.
 */
export class IndexUnavailableError extends FacilitatorError {
  readonly code = 'index_unavailable';

  constructor(what: string, cause?: unknown) {
    super(`the hub's index cannot be used: ${what}`, { cause });
    this.name = 'IndexUnavailableError';
  }
}

/** The stored bytes differ from the bytes that were written. */
export class DamagedObjectError extends FacilitatorError {
  readonly code = 'object_damaged';

  constructor(volume: number, start: number, block: number) {
    super(`block ${block} of the payload at ${start} in volume ${volume} is damaged`);
    this.name = 'DamagedObjectError';
  }
}

/** The facilitator did not answer: a settlement may have been made all the same. */
export class GatewayUnavailableError extends FacilitatorError {
  readonly code = 'facilitator_unavailable';

  constructor(what: string, cause?: unknown) {
    super(`the facilitator did not answer to ${what}`, { cause });
    this.name = 'GatewayUnavailableError';
  }
}
