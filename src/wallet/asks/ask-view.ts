import { formatUnits } from 'viem';
import { z } from 'zod';
import { isoTime } from '../../platform/concurrency/clock.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { Ask, CurrentAsk } from './ask.js';

const Amount = z.object({
  atomic: z.string().describe('Atomic units'),
  decimal: z.string().describe('Whole tokens'),
  symbol: z.string(),
  asset: z.string(),
  network: z.string().describe('CAIP-2'),
});

/** A request for approval, over REST. */
export const AskView = z.object({
  ask: z.string(),
  status: z
    .enum(['awaiting_owner', 'approved', 'denied', 'expired', 'used'])
    .describe('used: a payment was charged for it'),
  intentId: z.string(),
  url: z.string().describe('The purchase, as described by the agent and the seller'),
  method: z.string(),
  amount: Amount.describe('The maximum amount of the payment'),
  payTo: z.string(),
  rule: z.string().describe('The limit that the payment exceeds'),
  askedAt: z.string(),
  expiresAt: z.string(),
  page: z.string().describe('The page where the owner answers'),
});
export type AskView = z.infer<typeof AskView>;

/** @param now - Unix seconds. */
export function askView(ask: CurrentAsk, publicUrl: string, now: number): AskView {
  const { id, intentId, url, method, payTo, at, until } = ask.ask;
  return {
    ask: id,
    status: statusOf(ask, now),
    intentId,
    url,
    method,
    payTo,
    amount: amountOf(ask.ask),
    rule: ruleOf(ask.ask),
    askedAt: isoTime(at),
    expiresAt: isoTime(until),
    page: askPage(publicUrl, ask.ask),
  };
}

function statusOf({ ask, state }: CurrentAsk, now: number): AskView['status'] {
  if (state === 'denied' || state === 'used') return state;
  if (now >= ask.until) return 'expired';
  return state === 'waiting' ? 'awaiting_owner' : 'approved';
}

/** The page where its owner answers. */
function askPage(publicUrl: string, { id }: Ask): string {
  return `${publicUrl}/wallet/ask?id=${id}`;
}

function amountOf({ amount, symbol, decimals, asset, chainId }: Ask): AskView['amount'] {
  const network = caip2Of(chainId);
  return {
    atomic: amount.toString(),
    decimal: formatUnits(amount, decimals),
    symbol,
    asset,
    network,
  };
}

function ruleOf({ list, askAbove, symbol, decimals }: Ask): string {
  const where = list === undefined ? '' : ` to payees of "${list}"`;
  return `The owner is asked about payments${where} above ${formatUnits(askAbove, decimals)} ${symbol}.`;
}
