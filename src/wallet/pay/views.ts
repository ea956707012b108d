import { formatUnits } from 'viem';
import { isoTime } from '../../platform/concurrency/clock.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { CurrentAsk } from '../asks/ask.js';
import { askView } from '../asks/ask-view.js';
import type { Intent } from './intent.js';

/** An amount for agents and people. */
interface AmountView {
  /** Atomic units. */
  readonly atomic: string;
  /** Whole tokens. */
  readonly decimal: string;
  readonly symbol: string;
  readonly asset: string;
  readonly network: string;
}

/**
 * - `paid`: the chain shows the payment, and the seller has answered. `free`: answered without a payment.
 * - `presented`: the seller has answered, and the chain does not show the payment yet.
 * - `pending`: the payment is signed, its outcome is unknown. Repeat the request with the same intent.
 * - `paid_without_content`: the chain shows it paid, but the answer was lost or refused.
 * - `paid_not_saved`: paid, and not completely saved yet. Repeat the request with the same intent.
 * - `not_paid`: nothing was paid and nothing will be.
 * - `awaiting_owner`: nothing is paid before the owner approves. `approved`: the next request pays. `denied`,
 *   `expired`: the owner refused, or did not answer in time.
 */
export type PaymentStatus =
  | 'paid'
  | 'free'
  | 'presented'
  | 'pending'
  | 'paid_without_content'
  | 'paid_not_saved'
  | 'not_paid'
  | 'awaiting_owner'
  | 'approved'
  | 'denied'
  | 'expired';

export interface PaymentView {
  readonly intentId: string;
  readonly status: PaymentStatus;
  readonly url: string;
  readonly method: string;
  readonly at: string;
  readonly amount?: AmountView;
  readonly payTo?: string;
  readonly transaction?: string;
  readonly httpStatus?: number;
  readonly contentType?: string;
  readonly body?: string;
  readonly bodyEncoding?: 'utf8' | 'base64';
  readonly isCutOff?: boolean;
  /** The URL where the owner answers, and the deadline. */
  readonly ask?: { readonly url: string; readonly expiresAt: string };
  /** The place at the hub, instead of the body. */
  readonly saved?: { readonly name: string; readonly size: number; readonly sha256: string };
  readonly message: string;
}

const MESSAGES: Readonly<Record<PaymentStatus, string>> = {
  paid: 'The payment was made and the seller answered. A request with the same intentId gives this answer again and pays nothing.',
  free: 'The seller answered without a payment.',
  presented:
    'The seller has answered, and the chain does not show the payment yet. The wallet pays nothing else for this intentId while the payment can still be mined. Repeat the request with the same intentId to see the result.',
  pending:
    'The payment is signed and can still be mined. The wallet pays nothing else for this intentId. Repeat the request with the same intentId to see the result.',
  paid_without_content:
    'The payment was made, but the wallet has no answer of the seller. Ask the seller for the content.',
  paid_not_saved:
    'The payment was made, and the file is not completely saved yet. Repeat the request with the same intentId: the wallet continues to save and pays nothing more.',
  not_paid: 'The payment was not made, and it will not be made.',
  awaiting_owner:
    'A payment of this amount needs the approval of the owner. Show the user the link in "ask". When the owner has signed there, repeat the request with the same intentId. Nothing is paid before that.',
  approved: 'The owner approved the payment. Repeat the request with the same intentId to pay.',
  denied: 'The owner denied the payment. Nothing was paid.',
  expired:
    'The owner did not answer in time, or the purchase was not requested again after the answer. Nothing was paid.',
};

export function amountView(
  amount: bigint,
  token: {
    readonly chainId: number;
    readonly address: string;
    readonly symbol: string;
    readonly decimals: number;
  },
): AmountView {
  return {
    atomic: amount.toString(),
    decimal: formatUnits(amount, token.decimals),
    symbol: token.symbol,
    asset: token.address,
    network: caip2Of(token.chainId),
  };
}

export function paymentView(
  intentId: string,
  { url, method, at, deal, result, transaction: named, save }: Intent,
  status: PaymentStatus,
): PaymentView {
  // A seller's claim about a payment is shown only after the chain shows the payment.
  const transaction = SHOWN_BY_CHAIN.has(status) ? named : undefined;
  return {
    intentId,
    status,
    url,
    method,
    at: isoTime(at),
    ...(deal !== undefined && {
      amount: amountView(deal.spending.amount, {
        chainId: deal.spending.chainId,
        address: deal.spending.asset,
        symbol: deal.symbol,
        decimals: deal.decimals,
      }),
      payTo: deal.spending.payTo,
    }),
    ...(transaction !== undefined && { transaction }),
    ...(save?.file !== undefined && { saved: { name: save.name, ...save.file } }),
    ...(result !== undefined && {
      httpStatus: result.httpStatus,
      contentType: result.contentType,
    }),
    ...(result !== undefined &&
      save === undefined && {
        body: result.body,
        bodyEncoding: result.encoding,
        isCutOff: result.isCutOff,
      }),
    message: messageOf(status, transaction),
  };
}

/** Statuses in which the chain has shown the payment. */
const SHOWN_BY_CHAIN: ReadonlySet<PaymentStatus> = new Set(['paid', 'paid_without_content']);

function messageOf(status: PaymentStatus, transaction: string | undefined): string {
  const isNamed = status === 'paid_without_content' && transaction !== undefined;
  return isNamed
    ? MESSAGES[status].replace('the seller.', `the seller, naming the transaction ${transaction}.`)
    : MESSAGES[status];
}

/** A request for approval, as its agent sees it. @param now - Unix seconds. */
export function askedView(standing: CurrentAsk, publicUrl: string, now: number): PaymentView {
  const { page, expiresAt, askedAt, status, ...shown } = askView(standing, publicUrl, now);
  const { intentId, url, method, amount, payTo } = shown;
  // A used approval has become a purchase and is shown as one.
  const known = status === 'used' ? 'approved' : status;
  return {
    intentId,
    status: known,
    url,
    method,
    at: askedAt,
    amount,
    payTo,
    ask: { url: page, expiresAt },
    message: MESSAGES[known],
  };
}

/** An intent as recorded; the chain may know more about a `pending` one. */
export function viewOf(intentId: string, intent: Intent): PaymentView {
  return paymentView(intentId, intent, statusOf(intent));
}

function statusOf({ state, save, isProven }: Intent): PaymentStatus {
  if (state === 'reserved') return 'pending';
  if (state === 'free') return state;
  if (save !== undefined && save.file === undefined) return 'paid_not_saved';
  return isProven === true ? 'paid' : 'presented';
}
