import type { ReasonTable } from './reason-facts.js';

/** Reasons of Permit2 in every scheme, with sponsored permits and approvals. */
export const PERMIT2_REASONS = {
  unsupported_payload_type: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The payload type does not match the scheme.',
  },
  invalid_permit2_spender: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The permit names another spender than the x402 proxy of the scheme.',
  },
  invalid_permit2_recipient_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The witness pays another address than `payTo`.',
  },
  permit2_deadline_expired: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The deadline has passed or is less than 6 seconds away.',
  },
  permit2_not_yet_valid: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The witness `validAfter` has not passed yet by the time of the newest block.',
  },
  permit2_amount_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The permitted amount is not exactly the required amount.',
  },
  permit2_token_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The permitted token is not the required asset.',
  },
  invalid_permit2_signature: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The signature is not by the payer, or is not over this permit.',
  },
  permit2_proxy_not_deployed: {
    fault: 'facilitator',
    retry: 'never',
    meaning: 'The x402 proxy of the scheme is not deployed on this chain.',
  },
  permit2_insufficient_balance: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The balance of the payer, less its payments in flight, is below the amount.',
  },
  permit2_allowance_required: {
    fault: 'buyer',
    retry: 'later',
    meaning:
      'The allowance of the payer to Permit2, less its payments in flight, is below the amount.',
  },
  permit2_simulation_failed: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The settlement would revert, or would not credit the payee.',
  },
  permit2_2612_amount_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The sponsored permit is for another amount than the payment.',
  },
  permit2_invalid_amount: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The proxy or Permit2 refused the amount.',
  },
  permit2_invalid_destination: {
    fault: 'seller',
    retry: 'never',
    meaning: 'The proxy refused the destination.',
  },
  permit2_invalid_owner: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The proxy refused the owner.',
  },
  permit2_payment_too_early: {
    fault: 'buyer',
    retry: 'later',
    meaning: 'The proxy says that the payment is not valid yet.',
  },
  permit2_invalid_nonce: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning:
      'The Permit2 nonce was used or cancelled on chain, not by this settlement. A hash, where given, is the transaction that used it.',
  },
  invalid_eip2612_extension_format: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'A field of the eip2612GasSponsoring extension is malformed.',
  },
  eip2612_from_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The owner of the sponsored permit is not the payer.',
  },
  eip2612_asset_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The sponsored permit is for another token.',
  },
  eip2612_spender_not_permit2: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The sponsored permit approves another spender than Permit2.',
  },
  eip2612_deadline_expired: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The deadline of the sponsored permit has passed or is less than 6 seconds away.',
  },
  invalid_erc20_approval_extension_format: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'A field of the erc20ApprovalGasSponsoring extension is malformed.',
  },
  erc20_approval_from_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The owner of the sponsored approval is not the payer.',
  },
  erc20_approval_asset_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The sponsored approval is for another token.',
  },
  erc20_approval_spender_not_permit2: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The sponsored approval names another spender than Permit2.',
  },
  erc20_approval_tx_parse_failed: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning:
      'The signed transaction of the sponsored approval is not an EIP-1559 transaction in canonical form.',
  },
  erc20_approval_tx_wrong_target: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The signed transaction calls another contract than the token.',
  },
  erc20_approval_tx_wrong_selector: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The signed transaction calls another function than `approve(address,uint256)`.',
  },
  erc20_approval_tx_invalid_calldata: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The arguments of the signed `approve` cannot be read, or bytes follow the arguments.',
  },
  erc20_approval_tx_wrong_spender: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The signed `approve` is for another spender than Permit2.',
  },
  erc20_approval_tx_invalid_signature: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The signature of the signed transaction is invalid.',
  },
  erc20_approval_tx_signer_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The signed transaction is signed by another account than the payer.',
  },
  erc20_approval_tx_wrong_chain: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The signed transaction is for another chain.',
  },
  erc20_approval_tx_extra_cost: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The signed transaction carries native coins or an access list.',
  },
  erc20_approval_tx_amount_too_small: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The signed `approve` is for less than the amount.',
  },
  erc20_approval_tx_too_expensive: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning:
      'The gas, the fee or the top-up of the signed transaction is above the limit of this facilitator.',
  },
  erc20_approval_tx_underpriced: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The gas price of the signed transaction is below what the chain accepts now.',
  },
  erc20_approval_tx_nonce_mismatch: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning:
      'The account nonce of the signed transaction is not the next one of the payer, or another transaction with this nonce is pending.',
  },
  erc20_approval_payer_has_code: {
    fault: 'buyer',
    retry: 'never',
    meaning: 'The approval of a payer with code cannot be sponsored.',
  },
  erc20_approval_tx_failed: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning: 'The token refuses the signed `approve`.',
  },
  erc20_approval_broadcast_failed: {
    fault: 'buyer',
    retry: 'new-payment',
    meaning:
      'The approval was not mined in time, or the payer used the account nonce or the coins elsewhere. Nothing was paid.',
  },
} as const satisfies ReasonTable;
