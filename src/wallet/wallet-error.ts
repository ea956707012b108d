import type { Place } from '../protocol/diagnosis/place.js';
import { FacilitatorError } from '../protocol/errors.js';
import type { Refusal } from './rules/evaluate.js';

/** Codes of refused wallet requests. */
export type WalletErrorCode =
  | 'policy_violation'
  | 'invalid_request'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'feature_off'
  | 'conflict'
  | 'rate_limited'
  | 'wallet_locked'
  | 'INSUFFICIENT_FUNDS'
  | 'INVALID_TRANSACTION'
  | 'unsupported_method'
  | 'provider_refused'
  | 'provider_unavailable'
  | 'outcome_unknown'
  | 'fetch_refused'
  | 'fetch_failed'
  | 'no_acceptable_offer'
  | 'unavailable';

interface WalletErrorFacts {
  readonly rule?: string;
  readonly retryAfterSeconds?: number;
  /** The `WWW-Authenticate` of the answer (RFC 6750), where it is more than `Bearer`. */
  readonly challenge?: string;
  /** Where a request is wrong. */
  readonly place?: Place | undefined;
}

/** A refusal, with a text for the agent and its owner. */
export class WalletError extends FacilitatorError {
  constructor(
    readonly code: WalletErrorCode,
    message: string,
    readonly facts: WalletErrorFacts = {},
  ) {
    super(message);
    this.name = 'WalletError';
  }

  static refused({ rule, message }: Refusal): WalletError {
    return new WalletError('policy_violation', message, { rule });
  }
}

/** A folder of the wallet cannot be used. The error names the setting, not the path. */
export class WalletStorageError extends FacilitatorError {
  readonly code = 'wallet_storage';

  constructor(setting: string, cause: unknown) {
    super(`${setting}: the folder cannot be used`, { cause });
    this.name = 'WalletStorageError';
  }
}
