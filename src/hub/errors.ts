import { FacilitatorError } from '../protocol/errors.js';

/** Storage is unavailable, or it is unknown whether a payload was stored. Worth a retry. */
export class StorageUnavailableError extends FacilitatorError {
  readonly code = 'storage_unavailable';

  constructor(operation: string, cause?: unknown) {
    super(`the storage of the hub failed: ${operation}`, { cause });
    this.name = 'StorageUnavailableError';
  }
}

/** The index is being rebuilt, or Redis does not answer: a file that is not found now may exist. */
export class IndexUnavailableError extends FacilitatorError {
  readonly code = 'index_unavailable';

  constructor(what: string, cause?: unknown) {
    super(`the index of the hub is unavailable: ${what}`, { cause });
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

/** The facilitator did not answer; the settlement may have been made. */
export class GatewayUnavailableError extends FacilitatorError {
  readonly code = 'facilitator_unavailable';

  constructor(what: string, cause?: unknown) {
    super(`the facilitator did not answer: ${what}`, { cause });
    this.name = 'GatewayUnavailableError';
  }
}
