import { randomUUID } from 'node:crypto';
import type { Body } from '../support/payments.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { type Answered, ask, delay } from './client.js';
import type { Payment } from './deals.js';

export interface Heard {
  readonly at: number;
  readonly reason: string | undefined;
  readonly isSuccess: boolean;
  /** `202`: accepted, whatever its outcome. */
  readonly isAccepted: boolean;
  readonly transaction: unknown;
  readonly network: unknown;
  /** Of a scheme that settles less than was signed. */
  readonly amount: unknown;
  /** Of a channel: how it stands after the action. */
  readonly extra: unknown;
  /** What a refusal advises. */
  readonly retry: unknown;
}

/** One request and what came of it. */
export interface Request {
  readonly askedAt: number;
  heard: Heard | undefined;
}

/** What the place that a `202` names said last. */
interface Place {
  readonly isPaid: boolean;
  readonly state: string;
  readonly payTo: string | undefined;
  readonly amount: string | undefined;
}

type End = 'success' | 'duplicate' | 'not_sent' | 'refused' | 'gone';

/** Says nothing about the payment: ask again. */
const ASK_AGAIN = new Set([
  'settlement_pending',
  'network_unavailable',
  'queue_full',
  'no_gas',
  'budget_exhausted',
  'rate_limited',
  'payer_suspended',
  // By the price of the moment.
  'erc20_approval_tx_underpriced',
]);
const OVER = new Set(['finalized', 'foreign', 'reverted', 'expired', 'withdrawn', 'refused']);
const ANSWER_TIMEOUT_MS = 12_000;
const LOOK_TIMEOUT_MS = 3000;
/** A place that is not known for this long is no more. */
const GONE_MS = 8000;

/** What an order is paid with, or what else is posted to be settled. */
interface Posted {
  readonly body: Body;
}

export interface OrderOptions<P extends Posted = Payment> {
  readonly payment: P;
  readonly urls: () => readonly string[];
  readonly random: SeededRandom;
  /** The caller's own address. */
  readonly from: string;
  /** What it shows of itself besides. */
  readonly headersOf?: (from: string) => Readonly<Record<string, string>>;
  /** Without one, each request stands for itself. */
  readonly hasKey: boolean;
  /** `Prefer: respond-async`, and polls the given location. */
  readonly isAsync?: boolean;
  readonly startsAfterMs?: number;
  /** Aborts its first request after this many milliseconds, and asks again. */
  readonly abortsAfterMs?: number;
  /** Does not try again what was not sent. */
  readonly isEasilyDiscouraged?: boolean;
  /** Identical requests at once, each time. */
  readonly copies?: number;
  /** Asks this many times, after any answer. */
  readonly rounds?: number;
  /** Whether another order has got this payment: then "duplicate" is the end of it. */
  readonly isSoldElsewhere?: () => boolean;
  /** Further reasons that say nothing about the payment while something is going on. */
  readonly meaningless?: ReadonlySet<string>;
}

/**
 * One order of a seller, paid by one payment: asks until it has a final answer, as a seller does
 * who must know.
 */
export class Order<P extends Posted = Payment> {
  readonly key: string | undefined;
  readonly requests: Request[] = [];
  end: End | undefined;
  place: Place | undefined;
  /** The answer that it took for the end; others of the same moment may have come after it. */
  refusal: Heard | undefined;
  /** How often the place of a 202 was lost. */
  #losses = 0;
  /** The answers about a settlement that is pending or landed, by its id. */
  readonly heardAnswers = new Map<string, Heard>();

  constructor(readonly options: OrderOptions<P>) {
    this.key = options.hasKey ? randomUUID() : undefined;
  }

  get heard(): readonly Heard[] {
    return this.requests.flatMap(({ heard }) => heard ?? []);
  }

  /** Whether an answer of any form said that this payment is its own and landed. */
  get isBuyer(): boolean {
    return this.heard.some(({ isSuccess }) => isSuccess) || this.place?.isPaid === true;
  }

  /** Whether an answer may have been written that it did not stay for. */
  get mayHaveBeenAnswered(): boolean {
    return this.requests.some(({ heard }) => heard === undefined);
  }

  /** Resolves with a final answer, or after the deadline; `end` is then unset. */
  async pursue(deadline: number): Promise<void> {
    const { startsAfterMs = 0, abortsAfterMs, copies = 1, rounds = Infinity } = this.options;
    await delay(startsAfterMs);
    for (let round = 0; round < rounds && Date.now() < deadline; round += 1) {
      const timeoutMs = (round === 0 ? abortsAfterMs : undefined) ?? ANSWER_TIMEOUT_MS;
      const requests = Array.from({ length: copies }, () => this.#ask(timeoutMs, deadline));
      const ends = await Promise.all(requests);
      this.end = ends.find((end) => end === 'success') ?? ends.find((end) => end !== undefined);
      if (this.end !== undefined) return;
      await delay(200);
    }
  }

  #endOf(heard: Heard): End | undefined {
    const { isSuccess, reason } = heard;
    const { isSoldElsewhere, isEasilyDiscouraged = false, meaningless } = this.options;
    if (isSuccess) return 'success';
    if (reason === undefined || ASK_AGAIN.has(reason) || meaningless?.has(reason)) return undefined;
    if (reason === 'duplicate_settlement') {
      // Who has no key cannot show that it asked before.
      return this.key === undefined || isSoldElsewhere?.() === true ? 'duplicate' : undefined;
    }
    if (reason === 'settlement_not_sent') return isEasilyDiscouraged ? 'not_sent' : undefined;
    this.refusal ??= heard;
    return 'refused';
  }

  async #ask(timeoutMs: number, deadline: number): Promise<End | undefined> {
    const { payment, urls, random, from, headersOf, isAsync = false } = this.options;
    const request: Request = { askedAt: Date.now(), heard: undefined };
    this.requests.push(request);
    const url = random.pick(urls());
    const answer = await ask(`${url}/settle`, {
      method: 'POST',
      headers: {
        ...headersOf?.(from),
        ...(this.key !== undefined && { 'idempotency-key': this.key }),
        ...(isAsync && { prefer: 'respond-async' }),
      },
      body: payment.body,
      from,
      timeoutMs,
    });
    if (answer === undefined) return undefined;
    request.heard = heardIn(answer);
    const settlementId = answer.headers['settlement-id'];
    if (typeof settlementId === 'string' && isUnderWay(request.heard)) {
      this.heardAnswers.set(settlementId, request.heard);
    }
    if (!request.heard.isAccepted) return this.#endOf(request.heard);
    return this.#look(String(answer.headers['location']), deadline);
  }

  /** Polls the given location until it shows a final state. */
  async #look(path: string, deadline: number): Promise<End | undefined> {
    let unknownSince: number | undefined;
    while (Date.now() < deadline) {
      const url = this.options.random.pick(this.options.urls());
      const answer = await ask(`${url}${path}`, { timeoutMs: LOOK_TIMEOUT_MS });
      // What the archive alone knows, and no ledger works on, has no other end.
      const isForgotten =
        answer?.json['source'] === 'archive' && !OVER.has(String(answer.json['state']));
      if (answer?.status === 404 || isForgotten) {
        unknownSince ??= Date.now();
        if (Date.now() - unknownSince > GONE_MS) {
          // A seller with a key asks once more, as docs/sellers.md says: the place is lost with the ledger, the sale is not.
          const mayAskAgain = this.key !== undefined && this.#losses === 0;
          this.#losses += 1;
          return mayAskAgain ? undefined : 'gone';
        }
      }
      if (answer?.status === 200) {
        if (!isForgotten) unknownSince = undefined;
        this.place = placeIn(answer);
        if (OVER.has(this.place.state)) {
          if (this.place.isPaid) return 'success';
          const isMeaningless = this.options.meaningless?.has(String(answer.json['reason']));
          return isMeaningless === true ? undefined : 'refused';
        }
      }
      await delay(200);
    }
    return undefined;
  }
}

const isUnderWay = ({ isSuccess, isAccepted, reason }: Heard): boolean =>
  isSuccess || isAccepted || reason === 'settlement_pending';

function heardIn({ status, json }: Answered): Heard {
  const { success, errorReason, transaction, network, amount, extra } = json;
  const extensions = json['extensions'] as { diagnosis?: { retry?: unknown } } | undefined;
  return {
    at: Date.now(),
    isSuccess: success === true,
    isAccepted: status === 202,
    reason: errorReason as string | undefined,
    transaction,
    network,
    amount,
    extra,
    retry: extensions?.diagnosis?.retry,
  };
}

function placeIn({ json }: Answered): Place {
  const { paid, state, payment } = json as Record<string, unknown> & {
    payment?: Record<string, string>;
  };
  return {
    isPaid: paid === true,
    state: String(state),
    payTo: payment?.['payTo'],
    amount: payment?.['amount'],
  };
}
