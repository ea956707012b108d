import { FacilitatorError } from '../../protocol/errors.js';

/** The HTTP status of every error with a code. */
export const STATUS_OF_CODE = {
  // 503, because a settlement is not unknown while the ledger is unavailable.
  ledger_unavailable: 503,
  ledger_epoch_changed: 503,
  archive_unavailable: 503,
  chain_unavailable: 503,
  storage_unavailable: 503,
  index_unavailable: 503,

  // Errors of the wallet.
  policy_violation: 403,
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  feature_off: 404,
  conflict: 409,
  rate_limited: 429,
  wallet_locked: 423,
  INSUFFICIENT_FUNDS: 400,
  INVALID_TRANSACTION: 400,
  unsupported_method: 400,
  provider_refused: 403,
  provider_unavailable: 503,
  outcome_unknown: 502,
  fetch_refused: 403,
  fetch_failed: 502,
  no_acceptable_offer: 422,
  unavailable: 503,
} as const satisfies Readonly<Record<string, number>>;

/** @returns `undefined` for an unexpected error. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof FacilitatorError)) return undefined;
  return (STATUS_OF_CODE as Readonly<Record<string, number | undefined>>)[error.code];
}
