import type { Hex } from 'viem';
import { caip2Of } from '../../protocol/payment/network.js';
import type { SettlementDetails, SettlementView } from '../../settlement/model/settlement.js';
import type { SettlementReceipt } from './dto/receipt.response.js';

/** The place of a payment on the chain. */
export interface ReceiptEvidence {
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  /** Log index of the `Transfer` event. */
  readonly logIndex: number;
}

export function receiptOf(
  view: SettlementView,
  details: SettlementDetails,
  evidence: ReceiptEvidence,
  issuedAtMs: number,
): SettlementReceipt {
  return {
    settlementId: view.id,
    network: caip2Of(details.chainId),
    scheme: details.scheme,
    asset: details.token,
    payer: details.payer,
    payTo: details.payTo,
    amount: paidAmountOf(view, details).toString(),
    authorized: details.amount.toString(),
    nonce: details.authorizationNonce.toString(),
    deadline: details.deadline.toString(),
    terms: wordOf(view.termsTag),
    transaction: evidence.transaction,
    logIndex: String(evidence.logIndex),
    blockNumber: evidence.blockNumber.toString(),
    blockHash: evidence.blockHash,
    finality: view.state === 'included' ? 'included' : 'finalized',
    issuedAt: String(Math.floor(issuedAtMs / 1000)),
  };
}

export function paidAmountOf(view: SettlementView, { amount }: SettlementDetails): bigint {
  return view.settledAmount ?? amount;
}

/** The 32 bytes of an id. */
export function wordOf(tag: string): Hex {
  return `0x${Buffer.from(tag, 'base64url').toString('hex')}`;
}
