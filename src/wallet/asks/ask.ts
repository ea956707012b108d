import { Injectable } from '@nestjs/common';
import { formatUnits } from 'viem';
import { z } from 'zod';
import { caip2Of } from '../../protocol/payment/network.js';
import { storedAddress } from '../budget/due.js';
import { RecordSeal } from '../seal/record-seal.js';

const atomicUnits = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform(BigInt);

const Ask = z.object({
  v: z.literal(1),
  /** Not guessable, because the id alone allows reading the request. */
  id: z.string(),
  owner: storedAddress,
  wallet: storedAddress,
  intentId: z.string(),
  /** Hash of the agent's request: method, URL and body. */
  request: z.string(),
  /** The URL that made the offer. */
  url: z.string(),
  method: z.string(),
  chainId: z.int(),
  asset: storedAddress,
  payTo: storedAddress,
  /** Atomic units; the maximum payment. */
  amount: atomicUnits,
  symbol: z.string(),
  decimals: z.int(),
  /** The payee list whose limit the payment exceeds; absent for the limit of the wallet. */
  list: z.string().optional(),
  askAbove: atomicUnits,
  /** The revision of the rules that require the approval. Under other rules the owner is asked again. */
  revision: z.int(),
  /** Unix seconds. */
  at: z.int(),
  /** Unix seconds; after this time it can be neither answered nor paid. */
  until: z.int(),
});

/** One payment that needs the owner's approval. */
export type Ask = z.infer<typeof Ask>;

/** `used`: a payment was charged for it. */
type AskState = 'waiting' | 'approved' | 'denied' | 'used';

/** A request for approval with its state. */
export interface CurrentAsk {
  readonly ask: Ask;
  readonly state: AskState;
}

const LETTERS = { waiting: 'w', approved: 'a', denied: 'd', used: 'u' } as const;

/**
 * Requests as text: `<state>|<charge that used it>/<sealed>`. Scripts change only the part in front. An approval is
 * sealed as one, so write access to Redis is not enough to make one.
 */
@Injectable()
export class AskTexts {
  constructor(private readonly seal: RecordSeal) {}

  write(state: Exclude<AskState, 'used'>, ask: Ask): string {
    const { amount, askAbove, ...rest } = ask;
    const stored = { ...rest, amount: amount.toString(), askAbove: askAbove.toString() };
    const sealed = this.seal.seal(contextOf(state, ask.id), JSON.stringify(stored));
    return `${LETTERS[state]}|/${sealed}`;
  }

  /** `undefined` for a text that this service did not write, or of another wallet. */
  read(id: string, text: string): CurrentAsk | undefined {
    const [, letter, sealed = ''] = /^([wadu])\|[^/]*\/(.+)$/.exec(text) ?? [];
    const state = STATES.find((one) => LETTERS[one] === letter);
    if (state === undefined) return undefined;
    const opened = this.seal.open(contextOf(state === 'used' ? 'approved' : state, id), sealed);
    if (opened === undefined) return undefined;
    const ask = Ask.parse(JSON.parse(opened));
    return ask.id === id ? { ask, state } : undefined;
  }
}

const STATES = Object.keys(LETTERS) as readonly (keyof typeof LETTERS)[];

function contextOf(state: Exclude<AskState, 'used'>, id: string): string {
  return `ask:${state}:${id}`;
}

/** The same answer under the newest key. */
export function renewAnswer(seal: RecordSeal, id: string, isDenied: boolean, text: string): string {
  const end = text.indexOf('/') + 1;
  const sealed = text.slice(end);
  return `${text.slice(0, end)}${seal.renew(contextOf(isDenied ? 'denied' : 'approved', id), sealed)}`;
}

/** The same text in the state after a charge. */
export function usedText(text: string, spendingId: string): string {
  return `u|${spendingId}${text.slice(text.indexOf('/'))}`;
}

/** The text that the owner signs: one line that names this payment and no other. */
export function statementOf(ask: Ask): string {
  const { amount, symbol, decimals, asset, chainId, payTo, method, url, intentId } = ask;
  const until = new Date(ask.until * 1000).toISOString();
  return (
    `Pay at most ${formatUnits(amount, decimals)} ${symbol} (${amount} of ${asset} on ${caip2Of(chainId)}) ` +
    `to ${payTo}, once, until ${until}, for ${method} ${url}. Purchase "${intentId}", request ${ask.id}.`
  );
}
