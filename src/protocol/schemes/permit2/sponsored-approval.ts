import type { Address } from 'viem';
import type { ApprovalLimits } from '../../evm/approval-chain.js';
import { approvalIn, APPROVE } from '../../evm/calls.js';
import { PERMIT2 } from '../../evm/contracts.js';
import {
  mostCostOfTransaction,
  readSentTransaction,
  type SentTransaction,
} from '../../evm/payer-transaction.js';
import type { SponsoredApprovalClaim } from '../../payment/payment.js';
import { isShortText, readAddress, readBytes, UINT256_MAX } from '../../payment/wire-values.js';
import type { Reason } from '../../reasons.js';
import type { RecoverSignerAsync } from '../verdict.js';

/** The payment that an approval is for. */
interface ApprovedPayment {
  readonly payer: Address;
  readonly token: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly chainId: number;
}

export type CheckedApproval =
  | { readonly ok: true; readonly transaction: SentTransaction }
  | { readonly ok: false; readonly reason: Reason };

const DIGITS = /^\d+$/;
const DOTTED_VERSION = /^\d+(\.\d+)*$/;
const TEXT_MAX_CHARACTERS = 100;
/** An approval has about 180 bytes. */
const TRANSACTION_MAX_BYTES = 1024;
/** `approve(address,uint256)`: a selector and two words. */
const APPROVE_CHARACTERS = 2 + 8 + 2 * 64;

const refuse = (reason: Reason): CheckedApproval => ({ ok: false, reason });

/**
 * Checks the `erc20ApprovalGasSponsoring` info against the payment, without chain and clock. The checks of the
 * reference come first, in its order. The reference does not check chain id, value, fees and amount, with which a
 * payer could make this service pay for something else.
 */
export async function checkSponsoredApproval(
  claim: SponsoredApprovalClaim,
  payment: ApprovedPayment,
  limits: ApprovalLimits,
  recoverSigner: RecoverSignerAsync,
): Promise<CheckedApproval> {
  const from = readAddress(claim.from);
  const asset = readAddress(claim.asset);
  const spender = readAddress(claim.spender);
  const raw = readBytes(claim.signedTransaction, TRANSACTION_MAX_BYTES);
  if (from === undefined || asset === undefined || spender === undefined || raw === undefined) {
    return refuse('invalid_erc20_approval_extension_format');
  }
  if (!isText(claim.amount, DIGITS) || !isText(claim.version, DOTTED_VERSION)) {
    return refuse('invalid_erc20_approval_extension_format');
  }
  if (from !== payment.payer) return refuse('erc20_approval_from_mismatch');
  if (asset !== payment.token) return refuse('erc20_approval_asset_mismatch');
  if (spender !== PERMIT2) return refuse('erc20_approval_spender_not_permit2');
  const transaction = readSentTransaction(raw);
  if (transaction === undefined) return refuse('erc20_approval_tx_parse_failed');
  const wrong = wrongCall(transaction, payment.token);
  if (wrong !== undefined) return refuse(wrong);
  const signer = await recoverSigner(transaction.digest, transaction.signature);
  if (signer === undefined) return refuse('erc20_approval_tx_invalid_signature');
  if (signer !== payment.payer) return refuse('erc20_approval_tx_signer_mismatch');
  const costly = beyondLimits(transaction, payment, limits);
  return costly === undefined ? { ok: true, transaction } : refuse(costly);
}

function isText(value: unknown, form: RegExp): boolean {
  return isShortText(value, TEXT_MAX_CHARACTERS) && form.test(value);
}

function wrongCall({ to, data }: SentTransaction, token: Address): Reason | undefined {
  if (to !== token) return 'erc20_approval_tx_wrong_target';
  if (data.slice(2, 10) !== APPROVE) return 'erc20_approval_tx_wrong_selector';
  const approval = data.length === APPROVE_CHARACTERS ? approvalIn(data) : undefined;
  if (approval === undefined) return 'erc20_approval_tx_invalid_calldata';
  return approval.spender === PERMIT2 ? undefined : 'erc20_approval_tx_wrong_spender';
}

/** Limits of this service beyond those of the reference. */
function beyondLimits(
  transaction: SentTransaction,
  { amount, chainId }: ApprovedPayment,
  limits: ApprovalLimits,
): Reason | undefined {
  const { gas, maxFeePerGas, maxPriorityFeePerGas, value, hasAccessList, data } = transaction;
  if (transaction.chainId !== chainId) return 'erc20_approval_tx_wrong_chain';
  if (value !== 0n || hasAccessList) return 'erc20_approval_tx_extra_cost';
  if ((approvalIn(data)?.amount ?? 0n) < amount) return 'erc20_approval_tx_amount_too_small';
  const isWithin =
    gas <= limits.gas &&
    maxFeePerGas <= limits.maxFeePerGas &&
    maxPriorityFeePerGas <= maxFeePerGas &&
    mostCostOfTransaction(transaction) <= UINT256_MAX;
  return isWithin ? undefined : 'erc20_approval_tx_too_expensive';
}
