import type { ReasonTable } from './reason-facts.js';

/** Reasons of the scheme `upto`, besides those of Permit2. */
export const UPTO_REASONS = {
  invalid_upto_evm_scheme: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The buyer accepted another scheme than `upto`.',
  },
  invalid_upto_evm_network_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The network that the buyer accepted is not the network of the requirements.',
  },
  upto_facilitator_mismatch: {
    fault: 'seller',
    retry: 'new-payment',
    meaning:
      'The witness names a facilitator that is not a signer of this service. Offer `extra.facilitatorAddress` from `/supported`.',
  },
  invalid_upto_evm_payload_settlement_exceeds_amount: {
    fault: 'seller',
    retry: 'never',
    meaning: 'The amount to settle is above the maximum that the payer signed.',
  },
  upto_amount_exceeds_permitted: {
    fault: 'seller',
    retry: 'never',
    meaning: 'The proxy says that the amount to settle is above the maximum.',
  },
  upto_unauthorized_facilitator: {
    fault: 'facilitator',
    retry: 'never',
    meaning: 'The proxy says that the sender is not the facilitator of the witness.',
  },
  invalid_upto_evm_transaction_failed: {
    fault: 'chain',
    retry: 'same',
    meaning: 'The transaction was mined and reverted. The payment can be settled again.',
  },
  invalid_upto_evm_transfer_event_mismatch: {
    fault: 'chain',
    retry: 'never',
    meaning: 'The transaction succeeded but the token did not report this transfer.',
  },
} as const satisfies ReasonTable;
