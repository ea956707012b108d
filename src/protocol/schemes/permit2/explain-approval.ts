import { PERMIT2 } from '../../evm/contracts.js';
import type { Permit2Claim, SponsoredApprovalClaim } from '../../payment/payment.js';
import type { Explanations } from '../explain-frame.js';

const INFO = 'paymentPayload.extensions.erc20ApprovalGasSponsoring.info';
const TRANSACTION = `${INFO}.signedTransaction`;

type Explained = Explanations<Permit2Claim>;
type Explain = Explained[keyof Explained];

/** A field of the extension, and its expected value. */
const field =
  (name: keyof SponsoredApprovalClaim, expected: string): NonNullable<Explain> =>
  (_, { sponsoredApproval }) => ({
    path: `${INFO}.${name}`,
    expected,
    got: sponsoredApproval?.[name],
  });

/** A finding about the transaction. Its bytes are never repeated, because anyone could send them. */
const transaction =
  (expected: string, fix?: string): NonNullable<Explain> =>
  () => ({ path: TRANSACTION, expected, ...(fix !== undefined && { fix }) });

/** The place of the fault in the approval of a payment. */
export const APPROVAL_EXPLANATIONS: Explained = {
  invalid_erc20_approval_extension_format: () => ({
    path: INFO,
    expected:
      'from, asset, spender as addresses; amount as decimal text; signedTransaction as hexadecimal text; version as text',
  }),
  erc20_approval_from_mismatch: (payment, claim, facts) =>
    field('from', claim.from)(payment, claim, facts),
  erc20_approval_asset_mismatch: (payment, claim, facts) =>
    field('asset', payment.requirements.asset)(payment, claim, facts),
  erc20_approval_spender_not_permit2: field('spender', PERMIT2),
  erc20_approval_tx_parse_failed: transaction('a signed EIP-1559 transaction (type 2)'),
  erc20_approval_tx_wrong_target: ({ requirements }) => ({
    path: TRANSACTION,
    expected: `a call of the token ${requirements.asset}`,
  }),
  erc20_approval_tx_wrong_selector: transaction('a call of approve(address,uint256)'),
  erc20_approval_tx_invalid_calldata: transaction('a selector, an address and an amount'),
  erc20_approval_tx_wrong_spender: transaction(`an approval to Permit2, ${PERMIT2}`),
  erc20_approval_tx_invalid_signature: transaction('a signature that nodes accept'),
  erc20_approval_tx_signer_mismatch: (_, { from }) => ({
    path: TRANSACTION,
    expected: `a transaction signed by ${from}`,
  }),
  erc20_approval_tx_wrong_chain: ({ requirements }) => ({
    path: TRANSACTION,
    expected: `a transaction for chain ${requirements.chainId}`,
  }),
  erc20_approval_tx_extra_cost: transaction('value 0 and no access list'),
  erc20_approval_tx_amount_too_small: ({ requirements }) => ({
    path: TRANSACTION,
    expected: `an approval of at least ${requirements.amount}`,
  }),
  erc20_approval_tx_too_expensive: transaction(
    'gas and fees within the limits of this facilitator',
    'Sign with a lower gas limit and maxFeePerGas, or send the approval yourself.',
  ),
  erc20_approval_tx_underpriced: transaction(
    'fees that the chain accepts now',
    'Sign with the current fees.',
  ),
  erc20_approval_tx_nonce_mismatch: transaction(
    "the payer's next account nonce, with no other transaction waiting at that nonce",
    'Sign again with the current account nonce.',
  ),
  erc20_approval_payer_has_code: (_, { from }) => ({
    path: `${INFO}.from`,
    expected: 'a payer without code',
    got: from,
    fix: `The payer calls approve(${PERMIT2}, amount) of the token once.`,
  }),
  erc20_approval_tx_failed: transaction('an approval that the token accepts from this payer'),
  erc20_approval_broadcast_failed: transaction(
    'an approval that is included in a block',
    'Pay again. If the approval is on the chain by now, it is used. The facilitator pays for each account nonce once.',
  ),
};
