import type { ReasonTable } from './reason-facts.js';

/** Reasons of the scheme `exact` with EIP-3009, in V1 and V2. */
export const EIP3009_REASONS = {
  invalid_exact_evm_scheme: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The buyer accepted another scheme than `exact`.',
  },
  invalid_exact_evm_network_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The network that the buyer accepted is not the network of the requirements.',
  },
  invalid_exact_evm_missing_eip712_domain: {
    fault: 'seller',
    retry: 'never',
    meaning: '`extra.name` or `extra.version` of the token is missing from the requirements.',
  },
  invalid_exact_evm_signature: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The signature is not by the payer, or is not over this authorization.',
  },
  invalid_exact_evm_recipient_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The authorization pays another address than `payTo`.',
  },
  invalid_exact_evm_payload_authorization_valid_before: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: '`validBefore` has passed or is less than 6 seconds away.',
  },
  invalid_exact_evm_payload_authorization_valid_after: {
    fault: 'buyer',
    retry: 'later',
    meaning: '`validAfter` has not passed yet by the time of the newest block.',
  },
  invalid_exact_evm_payload_authorization_value_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The authorized value is not exactly the required amount (V2).',
  },
  invalid_exact_evm_authorization_value: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The authorized value is not exactly the required amount (V1).',
  },
  asset_not_deployed_contract: {
    fault: 'seller',
    retry: 'never',
    meaning: 'There is no contract at the asset address on this chain.',
  },
  invalid_exact_evm_eip3009_not_supported: {
    fault: 'seller',
    retry: 'never',
    meaning: 'The token has no EIP-3009 `authorizationState`.',
  },
  invalid_exact_evm_nonce_already_used: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning:
      'The authorization was used or cancelled on chain, not by this settlement. A hash, where given, is the transaction that used it.',
  },
  invalid_exact_evm_token_name_mismatch: {
    fault: 'seller',
    retry: 'never',
    meaning: '`extra.name` is not the name of the token on chain.',
  },
  invalid_exact_evm_token_version_mismatch: {
    fault: 'seller',
    retry: 'never',
    meaning: '`extra.version` is not the version of the token on chain.',
  },
  invalid_exact_evm_insufficient_balance: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The balance of the payer, less its payments in flight, is below the amount.',
  },
  invalid_exact_evm_transaction_simulation_failed: {
    fault: 'chain',
    retry: 'later',
    meaning: 'The transfer would revert, or would not credit the payee.',
  },
  eip6492_factory_not_allowed: {
    fault: 'buyer',
    retry: 'never',
    meaning:
      'The payer is a wallet that is not deployed yet, and this facilitator does not call its factory.',
  },
  invalid_exact_evm_transaction_failed: {
    fault: 'chain',
    retry: 'same',
    meaning: 'The transaction was mined and reverted. The payment can be settled again.',
  },
  invalid_exact_evm_transfer_event_mismatch: {
    fault: 'chain',
    retry: 'never',
    meaning: 'The transaction succeeded but the token did not report this transfer.',
  },
  settlement_pending: {
    fault: 'chain',
    retry: 'same',
    meaning:
      'The transaction was sent, and its outcome is not known yet. Repeat the request with the same payment to learn the outcome of this transaction.',
  },
} as const satisfies ReasonTable;
