/**
 * Every machine-readable reason this service gives, in one table. `docs/errors.md` is the same table
 * for people; a test compares the two.
 *
 * The strings are an interface: those of the reference are equal to its own, character for
 * character, so that sellers can switch facilitators without touching their code.
 */

/** Who has to change something before the same request can succeed. */
export type Fault = 'buyer' | 'seller' | 'token' | 'operator' | 'nobody';

/** Whether sending the same request again can end better. */
export type Retry = 'no' | 'yes' | 'later' | 'new payment';

export interface ReasonFacts {
  readonly fault: Fault;
  readonly retry: Retry;
  /** 200 unless named: an x402 answer is data, whatever it says. */
  readonly status?: 401 | 403 | 409 | 413 | 429;
  readonly meaning: string;
}

export const REASONS = {
  // Shape of the request (x402 V2 specification §9; where the reference implementation throws).
  invalid_x402_version: {
    fault: 'seller',
    retry: 'no',
    meaning: 'The x402Version is missing, unknown, contradictory, or not the one of this endpoint.',
  },
  unsupported_scheme: {
    fault: 'seller',
    retry: 'no',
    meaning: 'The requirements name a scheme that is not served here; `/supported` lists them.',
  },
  invalid_network: {
    fault: 'seller',
    retry: 'no',
    meaning: 'The requirements name a network that is not served here; `/supported` lists them.',
  },
  invalid_payload: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'A field of the payment payload is missing or of the wrong type.',
  },
  invalid_payment_requirements: {
    fault: 'seller',
    retry: 'no',
    meaning: 'A field of the payment requirements is missing or of the wrong type.',
  },
  unexpected_verify_error: {
    fault: 'operator',
    retry: 'yes',
    meaning: 'This service failed in a way it does not know. The payment was not judged.',
  },
  unexpected_settle_error: {
    fault: 'operator',
    retry: 'yes',
    meaning:
      'This service failed in a way it does not know. Ask again with the same payment: the answer will be the true one.',
  },

  // The exact scheme with EIP-3009 (and V1).
  invalid_exact_evm_scheme: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The buyer accepted another scheme than `exact`.',
  },
  invalid_exact_evm_network_mismatch: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The buyer accepted another network than the requirements name.',
  },
  invalid_exact_evm_missing_eip712_domain: {
    fault: 'seller',
    retry: 'no',
    meaning: '`extra.name` or `extra.version` of the token is missing from the requirements.',
  },
  invalid_exact_evm_signature: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The signature is not one of the payer over this authorization.',
  },
  invalid_exact_evm_recipient_mismatch: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The authorization pays another address than `payTo`.',
  },
  invalid_exact_evm_payload_authorization_valid_before: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: '`validBefore` has passed or is less than 6 seconds away.',
  },
  invalid_exact_evm_payload_authorization_valid_after: {
    fault: 'buyer',
    retry: 'later',
    meaning: '`validAfter` lies in the future.',
  },
  invalid_exact_evm_payload_authorization_value_mismatch: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The authorized value is not exactly the required amount (V2).',
  },
  invalid_exact_evm_authorization_value: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The authorized value is not exactly the required amount (V1).',
  },
  asset_not_deployed_contract: {
    fault: 'seller',
    retry: 'no',
    meaning: 'There is no contract at the asset address on this chain.',
  },
  invalid_exact_evm_eip3009_not_supported: {
    fault: 'seller',
    retry: 'no',
    meaning: 'The token has no EIP-3009 `authorizationState`.',
  },
  invalid_exact_evm_nonce_already_used: {
    fault: 'buyer',
    retry: 'new payment',
    meaning:
      'The authorization was used or cancelled on chain, not by this settlement. A hash, where given, is the transaction that used it.',
  },
  invalid_exact_evm_token_name_mismatch: {
    fault: 'seller',
    retry: 'no',
    meaning: '`extra.name` is not the name of the token on chain.',
  },
  invalid_exact_evm_token_version_mismatch: {
    fault: 'seller',
    retry: 'no',
    meaning: '`extra.version` is not the version of the token on chain.',
  },
  invalid_exact_evm_insufficient_balance: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The payer holds less than the amount, what it has in flight counted.',
  },
  invalid_exact_evm_transaction_simulation_failed: {
    fault: 'token',
    retry: 'later',
    meaning:
      'The transfer would revert, or not bring the payee its money, for a cause that is none of the others.',
  },
  eip6492_factory_not_allowed: {
    fault: 'buyer',
    retry: 'no',
    meaning: 'The payer is a wallet that is not deployed yet; deploying wallets is not served.',
  },
  invalid_exact_evm_transaction_failed: {
    fault: 'token',
    retry: 'yes',
    meaning: 'The transaction was mined and reverted. The payment can be settled again.',
  },
  invalid_exact_evm_transfer_event_mismatch: {
    fault: 'token',
    retry: 'no',
    meaning: 'The transaction succeeded but the token did not report this transfer.',
  },
  settlement_pending: {
    fault: 'nobody',
    retry: 'yes',
    meaning:
      'The transaction was sent and its outcome is not known yet. Ask again with the same payment: the answer is the outcome of this transaction.',
  },

  // The exact scheme with Permit2.
  unsupported_payload_type: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'A Permit2 payload for another scheme than `exact`.',
  },
  invalid_permit2_spender: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The permit names another spender than the x402 exact proxy.',
  },
  invalid_permit2_recipient_mismatch: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The witness pays another address than `payTo`.',
  },
  permit2_deadline_expired: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The deadline has passed or is less than 6 seconds away.',
  },
  permit2_not_yet_valid: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The witness `validAfter` lies in the future.',
  },
  permit2_amount_mismatch: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The permitted amount is not exactly the required amount.',
  },
  permit2_token_mismatch: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The permitted token is not the required asset.',
  },
  invalid_permit2_signature: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The signature is not one of the payer over this permit.',
  },
  permit2_proxy_not_deployed: {
    fault: 'operator',
    retry: 'no',
    meaning: 'The x402 exact proxy is not deployed on this chain.',
  },
  permit2_insufficient_balance: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The payer holds less than the amount, what it has in flight counted.',
  },
  permit2_allowance_required: {
    fault: 'buyer',
    retry: 'later',
    meaning:
      'The payer has approved less than the amount to Permit2, what it has in flight counted.',
  },
  permit2_simulation_failed: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The settlement would revert; most often the Permit2 nonce is used.',
  },
  permit2_2612_amount_mismatch: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The sponsored permit is for another amount than the payment.',
  },
  permit2_invalid_amount: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The proxy or Permit2 refused the amount.',
  },
  permit2_invalid_destination: {
    fault: 'seller',
    retry: 'no',
    meaning: 'The proxy refused the destination.',
  },
  permit2_invalid_owner: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The proxy refused the owner.',
  },
  permit2_payment_too_early: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The proxy says the payment is not valid yet.',
  },
  permit2_invalid_nonce: {
    fault: 'buyer',
    retry: 'new payment',
    meaning:
      'The Permit2 nonce was used or cancelled on chain, not by this settlement. A hash, where given, is the transaction that used it.',
  },
  invalid_eip2612_extension_format: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'A field of the eip2612GasSponsoring extension is malformed.',
  },
  eip2612_from_mismatch: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The sponsored permit is of another owner than the payer.',
  },
  eip2612_asset_mismatch: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The sponsored permit is for another token.',
  },
  eip2612_spender_not_permit2: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The sponsored permit approves another spender than Permit2.',
  },
  eip2612_deadline_expired: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The deadline of the sponsored permit has passed or is less than 6 seconds away.',
  },

  // Of this service.
  duplicate_settlement: {
    fault: 'nobody',
    retry: 'no',
    meaning:
      'The payment is settled or being settled for another request. One payment buys one answer: do not deliver for this request.',
  },
  settlement_not_sent: {
    fault: 'operator',
    retry: 'yes',
    meaning:
      'Nothing was signed in time and nothing will be: the settlement was withdrawn. The payment is unspent.',
  },
  idempotency_key_conflict: {
    fault: 'seller',
    retry: 'no',
    status: 409,
    meaning: 'This Idempotency-Key came with another payment before. Use one key per order.',
  },
  deadline_too_close: {
    fault: 'buyer',
    retry: 'new payment',
    meaning: 'The payment would expire before it could be mined.',
  },
  queue_full: {
    fault: 'operator',
    retry: 'later',
    meaning: 'Too many settlements are waiting; `Retry-After` says when to ask again.',
  },
  payer_suspended: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'Settlements of this payer kept reverting after a clean simulation.',
  },
  asset_suspended: {
    fault: 'token',
    retry: 'later',
    meaning: 'Transfers of this asset kept succeeding without paying anybody.',
  },
  no_gas: {
    fault: 'operator',
    retry: 'later',
    meaning: 'No signer of this network has gas money left.',
  },
  gas_limit_exceeded: {
    fault: 'token',
    retry: 'no',
    meaning: 'The transfer needs more gas than one settlement may cost.',
  },
  amount_too_small: {
    fault: 'seller',
    retry: 'no',
    meaning: 'The amount is below the least amount for this asset.',
  },
  budget_exhausted: {
    fault: 'operator',
    retry: 'later',
    meaning: 'The gas budget of today is spent.',
  },
  network_unavailable: {
    fault: 'operator',
    retry: 'yes',
    meaning:
      'The chain or the ledger could not be asked. It says nothing about the payment: ask again.',
  },
  asset_not_allowed: {
    fault: 'seller',
    retry: 'no',
    meaning: 'This deployment does not serve the asset.',
  },
  payee_not_allowed: {
    fault: 'seller',
    retry: 'no',
    meaning: 'This deployment does not serve the payee.',
  },
  unauthorized: {
    fault: 'seller',
    retry: 'no',
    status: 401,
    meaning: 'An API key that is known here is required.',
  },
  forbidden: {
    fault: 'seller',
    retry: 'no',
    status: 403,
    meaning: 'The API key does not allow this.',
  },
  rate_limited: {
    fault: 'seller',
    retry: 'later',
    status: 429,
    meaning: 'Too many requests; `Retry-After` says when to ask again.',
  },
} as const satisfies Readonly<Record<string, ReasonFacts>>;

export type Reason = keyof typeof REASONS;
