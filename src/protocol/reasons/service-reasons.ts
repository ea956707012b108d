import type { ReasonTable } from './reason-facts.js';

/** Reasons that only this service has: about the sale, the queue, budgets, limits and API keys. */
export const SERVICE_REASONS = {
  duplicate_settlement: {
    fault: 'seller',
    retry: 'never',
    meaning:
      'The payment is settled, or is being settled, for another request. Do not deliver for this request.',
  },
  settlement_not_sent: {
    fault: 'facilitator',
    retry: 'same',
    meaning:
      'No transaction was signed in time, and no transaction will be signed. The payment is unspent and can be used again.',
  },
  idempotency_key_conflict: {
    fault: 'seller',
    retry: 'never',
    status: 409,
    meaning: 'This Idempotency-Key was used with another payment before. Use one key per order.',
  },
  invalid_idempotency_key: {
    fault: 'seller',
    retry: 'never',
    status: 400,
    meaning: 'The Idempotency-Key is a placeholder such as `undefined` or `null`.',
  },
  deadline_too_close: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The payment would expire before it could be mined.',
  },
  queue_full: {
    fault: 'facilitator',
    retry: 'later',
    meaning: 'Too many settlements are waiting; `Retry-After` says when to ask again.',
  },
  payer_suspended: {
    fault: 'buyer',
    retry: 'later',
    meaning:
      'Settlements of this payer repeatedly reverted after a successful simulation. For channels: settlements of this authorizer or this token.',
  },
  asset_suspended: {
    fault: 'chain',
    retry: 'later',
    meaning: 'Transfers of this asset repeatedly succeeded without crediting the payee.',
  },
  no_gas: {
    fault: 'facilitator',
    retry: 'later',
    meaning: 'This facilitator has no native coins left for gas on this network. Nothing was sent.',
  },
  gas_limit_exceeded: {
    fault: 'chain',
    retry: 'never',
    meaning: 'The transfer needs more gas than one settlement may cost.',
  },
  amount_too_small: {
    fault: 'seller',
    retry: 'never',
    meaning: "The amount is below this deployment's minimum for the asset.",
  },
  payment_to_oneself: {
    fault: 'buyer',
    retry: 'never',
    meaning: 'Payer and payee are the same account.',
  },
  budget_exhausted: {
    fault: 'facilitator',
    retry: 'later',
    meaning: 'The gas budget of today is spent.',
  },
  network_unavailable: {
    fault: 'facilitator',
    retry: 'same',
    meaning:
      'The chain or the ledger is unavailable, so the state of the payment is unknown. Repeat the request.',
  },
  asset_not_allowed: {
    fault: 'seller',
    retry: 'never',
    meaning: 'This deployment does not serve the asset.',
  },
  payee_not_allowed: {
    fault: 'seller',
    retry: 'never',
    meaning: 'This deployment does not serve the payee.',
  },
  unauthorized: {
    fault: 'seller',
    retry: 'never',
    status: 401,
    meaning:
      'An API key is required. Send it in `X-API-Key`; the operator of this service issues keys.',
  },
  forbidden: {
    fault: 'seller',
    retry: 'never',
    status: 403,
    meaning: 'The API key does not have the scope that this request needs.',
  },
  rate_limited: {
    fault: 'seller',
    retry: 'later',
    status: 429,
    meaning: 'Too many requests; `Retry-After` says when to ask again.',
  },
} as const satisfies ReasonTable;
