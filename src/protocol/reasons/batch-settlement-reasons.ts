import type { ReasonTable } from './reason-facts.js';

const oldOffer = 'Open a channel by the current offer.';

/** The scheme `batch-settlement`: channels, vouchers and their collection. */
export const BATCH_SETTLEMENT_REASONS = {
  invalid_batch_settlement_evm_scheme: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The buyer accepted another scheme than `batch-settlement`.',
    isWithoutPayer: 'always',
  },
  invalid_batch_settlement_evm_network_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The network that the buyer accepted is not the network of the requirements.',
    isWithoutPayer: 'always',
  },
  invalid_batch_settlement_evm_payload_type: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The payload type or the transfer method is not supported, or a part is missing.',
    isWithoutPayer: 'unread',
  },
  invalid_batch_settlement_evm_channel_id_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The channel id does not match the channel configuration.',
  },
  invalid_batch_settlement_evm_receiver_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The receiver of the channel is not the payee.',
  },
  invalid_batch_settlement_evm_receiver_authorizer_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: `The channel has another receiver authorizer than the offer. ${oldOffer}`,
  },
  invalid_batch_settlement_evm_token_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The token is not the required asset.',
  },
  invalid_batch_settlement_evm_withdraw_delay_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: `The channel has another withdraw delay than the offer. ${oldOffer}`,
  },
  invalid_batch_settlement_evm_withdraw_delay_out_of_range: {
    fault: 'seller',
    retry: 'new-payment',
    meaning: 'The withdraw delay is not between 15 minutes and 30 days.',
  },
  invalid_batch_settlement_evm_erc3009_authorization_required: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The deposit has no EIP-3009 authorization.',
  },
  invalid_batch_settlement_evm_missing_eip712_domain: {
    fault: 'seller',
    retry: 'never',
    meaning: 'The requirements do not name the EIP-712 domain of the token.',
  },
  invalid_batch_settlement_evm_payload_authorization_valid_before: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The deposit authorization has expired, or expires too soon.',
  },
  invalid_batch_settlement_evm_payload_authorization_valid_after: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The deposit authorization is not valid yet.',
  },
  invalid_batch_settlement_evm_eip6492_factory_not_allowed: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The wallet of the payer has to be deployed before it can make a deposit.',
  },
  invalid_batch_settlement_evm_receive_authorization_signature: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The deposit authorization is not signed by the payer.',
  },
  invalid_batch_settlement_evm_permit2_invalid_signature: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The Permit2 authorization of the deposit is not signed by the payer.',
  },
  invalid_batch_settlement_evm_permit2_invalid_spender: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The spender of the Permit2 authorization is not the deposit collector.',
  },
  invalid_batch_settlement_evm_permit2_amount_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The Permit2 authorization is for another amount than the deposit.',
  },
  invalid_batch_settlement_evm_permit2_deadline_expired: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The Permit2 authorization of the deposit has expired, or expires too soon.',
  },
  invalid_batch_settlement_evm_permit2_allowance_required: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The payer has approved less than the deposit to Permit2.',
  },
  invalid_batch_settlement_evm_eip2612_amount_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The EIP-2612 permit is for another amount than the deposit.',
  },
  invalid_batch_settlement_evm_voucher_signature: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning:
      'The voucher has no signature of the payer that the contract accepts: 65 bytes, low `s`, `v` 27 or 28.',
  },
  invalid_batch_settlement_evm_rpc_read_failed: {
    fault: 'chain',
    retry: 'same',
    meaning: 'The state of the channel could not be read.',
  },
  invalid_batch_settlement_evm_insufficient_balance: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The payer holds less of the token than the deposit.',
  },
  invalid_batch_settlement_evm_channel_not_found: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The channel does not exist, or holds nothing. Make a deposit first.',
  },
  invalid_batch_settlement_evm_cumulative_exceeds_balance: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The voucher is for more than the channel holds.',
  },
  invalid_batch_settlement_evm_cumulative_below_claimed: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The amount of the voucher is not above the amount already claimed.',
  },
  invalid_batch_settlement_evm_deposit_simulation_failed: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The deposit would fail on the chain now.',
  },
  invalid_batch_settlement_evm_deposit_transaction_failed: {
    fault: 'chain',
    retry: 'same',
    meaning: 'The deposit was mined and reverted, or emitted no event of the channel.',
  },
  invalid_batch_settlement_evm_authorizer_not_configured: {
    fault: 'seller',
    retry: 'never',
    meaning:
      'The claim has no signature of the receiver authorizer, and this service does not sign claims.',
    isWithoutPayer: 'always',
  },
  invalid_batch_settlement_evm_authorizer_address_mismatch: {
    fault: 'seller',
    retry: 'never',
    meaning: 'The rows of the claim have different receiver authorizers.',
    isWithoutPayer: 'always',
  },
  invalid_batch_settlement_evm_claim_simulation_failed: {
    fault: 'seller',
    retry: 'never',
    meaning: 'A row of the claim would fail on the chain, so the whole claim would fail.',
    isWithoutPayer: 'always',
  },
  invalid_batch_settlement_evm_nothing_to_settle: {
    fault: 'seller',
    retry: 'later',
    meaning: 'All amounts of this token that the receiver has claimed are already paid out.',
    isWithoutPayer: 'always',
  },
  invalid_batch_settlement_evm_claim_transaction_failed: {
    fault: 'chain',
    retry: 'same',
    meaning: 'The claim was mined and reverted, or its channels did not reach the claimed totals.',
  },
  invalid_batch_settlement_evm_settle_simulation_failed: {
    fault: 'seller',
    retry: 'later',
    meaning: 'The payout would fail on the chain now.',
    isWithoutPayer: 'always',
  },
  invalid_batch_settlement_evm_settle_transaction_failed: {
    fault: 'chain',
    retry: 'same',
    meaning: 'The payout was mined and reverted, or paid nothing.',
  },
  invalid_batch_settlement_evm_refund_no_balance: {
    fault: 'seller',
    retry: 'never',
    meaning: 'Nothing to refund: the channel holds no more than was claimed.',
    isWithoutPayer: 'always',
  },
  invalid_batch_settlement_evm_refund_simulation_failed: {
    fault: 'seller',
    retry: 'never',
    meaning: 'The refund would fail on the chain now, or its amount is 0.',
    isWithoutPayer: 'always',
  },
  invalid_batch_settlement_evm_refund_transaction_failed: {
    fault: 'chain',
    retry: 'same',
    meaning: 'The refund was mined and reverted, or did not use its nonce.',
  },
} as const satisfies ReasonTable;
