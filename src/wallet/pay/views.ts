import { formatUnits } from 'viem';
import { isoTime } from '../../platform/concurrency/clock.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { CurrentAsk } from '../asks/ask.js';
import { askView } from '../asks/ask-view.js';
import type { Intent } from './intent.js';

/** An amount as agents and people read it. */
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
 * - `paid`: the chain shows it paid, and it is answered. `free`: answered without payment.
 * - `presented`: the seller has answered, and the chain does not show the payment yet.
 * - `pending`: the payment is signed, its outcome is not known yet. Repeat the request with the same intent.
 * - `paid_without_content`: the chain shows it paid, but the answer was lost or refused.
 * - `paid_not_saved`: paid for, and not all of it is saved yet. Repeat the request with the same intent.
 * - `not_paid`: nothing was paid and nothing will be.
 * - `awaiting_owner`: nothing is paid before the owner says yes. `approved`: it is paid when it is asked for
 *   again. `denied`, `expired`: the owner said no, or nothing in time.
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
  /** Where the owner answers, and until when. */
  readonly ask?: { readonly url: string; readonly expiresAt: string };
  /** Where it is at the hub, in place of the body. */
  readonly saved?: { readonly name: string; readonly size: number; readonly sha256: string };
  readonly message: string;
}

const MESSAGES: Readonly<Record<PaymentStatus, string>> = {
  paid: 'Paid and answered. Asking again with the same intent gives this answer and pays nothing.',
  free: 'Answered without payment.',
  presented:
    'The seller has answered, and the chain does not show the payment yet. Nothing else is paid for this intent while it may land. Ask again with the same intent to see whether it did.',
  pending:
    'The payment is signed and may land; nothing else will be paid for this intent. Repeat the request with the same intent.',
  paid_without_content:
    'The payment landed, but there is no answer to give. Take it up with the seller.',
  paid_not_saved:
    'The seller has answered for it, and not all is saved yet. Ask again with the same intent: nothing more is paid, and it goes on.',
  not_paid: 'Nothing was paid, and nothing will be.',
  awaiting_owner:
    'The rules ask the owner about a payment as large as this. Show the user the link in "ask"; once it is signed there, ask again with the same intent. Nothing is paid before.',
  approved: 'The owner has said yes. Ask again with the same intent to pay.',
  denied: 'The owner said no. Nothing was paid.',
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
  // A seller's claim about a payment is not shown before the chain shows the payment.
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

/** Those in which the chain has shown the payment. */
const SHOWN_BY_CHAIN: ReadonlySet<PaymentStatus> = new Set(['paid', 'paid_without_content']);

function messageOf(status: PaymentStatus, transaction: string | undefined): string {
  const isNamed = status === 'paid_without_content' && transaction !== undefined;
  return isNamed
    ? MESSAGES[status].replace('the seller.', `the seller, naming the transaction ${transaction}.`)
    : MESSAGES[status];
}

/** What an owner is asked, as its agent sees it. @param now - Unix seconds. */
export function askedView(standing: CurrentAsk, publicUrl: string, now: number): PaymentView {
  const { page, expiresAt, askedAt, status, ...shown } = askView(standing, publicUrl, now);
  const { intentId, url, method, amount, payTo } = shown;
  // A used approval has become a purchase, and is shown as one.
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

/** An intent as it is noted; the chain may tell more of one that is `pending`. */
export function viewOf(intentId: string, intent: Intent): PaymentView {
  return paymentView(intentId, intent, statusOf(intent));
}

function statusOf({ state, save, isProven }: Intent): PaymentStatus {
  if (state === 'reserved') return 'pending';
  if (state === 'free') return state;
  if (save !== undefined && save.file === undefined) return 'paid_not_saved';
  return isProven === true ? 'paid' : 'presented';
}
