import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, formatUnits, parseUnits } from 'viem';
import type { WalletAsset } from '../../config/wallet-settings.js';
import { FacilitatorError } from '../../core/errors.js';
import type { Journal } from '../audit/journal.js';
import { storedSpending } from '../budget/due.js';
import type { Reconciler } from '../budget/reconciler.js';
import type { SpendingStore } from '../budget/spending-store.js';
import type { RedisLock } from '../redis-lock.js';
import { type KnownContracts, spendingOf } from '../rules/decode-typed-data.js';
import { VALIDITY_MAX_SECONDS } from '../rules/judge.js';
import { eip3009Message, permit2Message } from '../rules/payment-message.js';
import type { Spending, TypedData } from '../rules/spending.js';
import type { Session } from '../session.js';
import type { Authorizer, Wish } from '../signing/authorizer.js';
import type { WalletSigner } from '../signing/signer.js';
import { WalletError } from '../wallet-error.js';
import { tagOf } from '../wallet-keys.js';
import type { WalletObserver } from '../wallet-observer.js';
import { type Balances } from './balances.js';
import { type Deal, type Intent, type IntentStore, requestDigest, type Result } from './intent.js';
import { type Offer, type PaymentRequired, readHeader, readPaymentRequired } from './offer.js';
import { paymentHeader } from './payment-header.js';
import type { FetchAnswer, FetchRequest, SafeFetch } from './safe-fetch.js';
import { type PaymentView, paymentView } from './views.js';

/** A seller that says "pending" is asked again this often, with the same payment. */
const PENDING_RETRY_MS = 1000;
/** Kept with an intent, and in the journal: what a seller wrote may not be larger. */
const DEAL_MAX_CHARACTERS = 16_384;

export interface Purchase extends FetchRequest {
  /** The most to pay, in whole tokens, as a decimal. */
  readonly maxAmount: string;
  /** The buyer's name for this one purchase. */
  readonly intentId: string;
}

/** An intent that is charged; with its record when another attempt has done that. */
interface Charged {
  readonly intent: Intent;
  readonly record: string | undefined;
}

export interface PayOptions {
  readonly timeoutMs: number;
  readonly intentLifeSeconds: number;
}

/**
 * Buys: fetches, reads the 402, charges the budget, signs and presents the payment. An intent has one
 * payment, whatever happens: it is stored with its nonce before it is signed, and every later attempt
 * presents that one, until the chain proves that it never will be executed.
 */
export class PayService {
  constructor(
    private readonly fetcher: SafeFetch,
    private readonly known: KnownContracts,
    private readonly authorizer: Authorizer,
    private readonly signer: WalletSigner,
    private readonly intents: IntentStore,
    private readonly store: SpendingStore,
    private readonly reconciler: Reconciler,
    private readonly balances: Balances,
    private readonly locks: RedisLock,
    private readonly journal: Journal,
    private readonly observer: Pick<WalletObserver, 'bought'>,
    private readonly options: PayOptions,
    private readonly now: () => number,
  ) {}

  /** @throws WalletError; nothing was paid then, but for `outcome_unknown`. */
  async pay(session: Session, wanted: Purchase): Promise<PaymentView> {
    try {
      const view = await this.#pay(session, wanted);
      this.observer.bought({ outcome: view.status });
      return view;
    } catch (error) {
      this.observer.bought({ outcome: error instanceof WalletError ? error.code : 'failed' });
      throw error;
    }
  }

  #pay(session: Session, wanted: Purchase): Promise<PaymentView> {
    const { address } = session.wallet;
    return this.locks.hold(`intent:${address}:${tagOf(wanted.intentId)}`, async () => {
      const stored = await this.intents.read(address, wanted.intentId);
      if (stored === undefined) return this.#buy(session, wanted, '');
      const { intent, record } = stored;
      if (intent.request !== requestDigest(wanted)) {
        throw usedForAnother();
      }
      if (intent.state !== 'reserved') return this.#viewOf(wanted.intentId, intent);
      return this.#resume(session, wanted, intent, record);
    });
  }

  /** What became of an intent. Looks at the chain where that can tell more. */
  async status({ wallet }: Session, intentId: string): Promise<PaymentView> {
    const stored = await this.intents.read(wallet.address, intentId);
    if (stored === undefined) throw new WalletError('not_found', 'There is no such intent.');
    const { intent } = stored;
    if (intent.state !== 'reserved' || intent.deal === undefined) {
      return this.#viewOf(intentId, intent);
    }
    const fate = await this.reconciler.look({
      wallet: wallet.address,
      spending: intent.deal.spending,
    });
    if (fate.kind === 'unspent') return paymentView(intentId, intent, 'not_paid');
    return paymentView(
      intentId,
      intent,
      fate.kind === 'spent' ? 'paid_without_content' : 'pending',
    );
  }

  /** The newest purchases, newest first, without their answers. */
  async history({ wallet }: Session, limit: number): Promise<PaymentView[]> {
    const ids = await this.store.history(wallet.address, limit);
    const stored = await Promise.all(ids.map((id) => this.intents.read(wallet.address, id)));
    return stored.flatMap((one, at) => {
      if (one === undefined) return [];
      const { result, ...intent } = one.intent;
      const view = this.#viewOf(ids[at] ?? '', intent);
      return [{ ...view, ...(result !== undefined && { httpStatus: result.httpStatus }) }];
    });
  }

  async #resume(
    session: Session,
    wanted: Purchase,
    intent: Intent,
    record: string,
  ): Promise<PaymentView> {
    const { deal } = intent;
    if (deal === undefined) return this.#buy(session, wanted, record);
    if (deal.spending.deadline > this.now()) {
      return this.#presentAgain(session, wanted, { intent, record }, deal);
    }
    const { address } = session.wallet;
    const fate = await this.reconciler.look({ wallet: address, spending: deal.spending });
    // Proven never to be executed: the intent may be paid for anew.
    if (fate.kind === 'unspent') return this.#buy(session, wanted, record);
    const status = fate.kind === 'spent' ? 'paid_without_content' : 'pending';
    return paymentView(wanted.intentId, intent, status);
  }

  /** @param replaces - the record of a payment that is over; empty for none. */
  async #buy(session: Session, wanted: Purchase, replaces: string): Promise<PaymentView> {
    const signal = AbortSignal.timeout(this.options.timeoutMs);
    const answer = await this.fetcher.fetch(wanted, signal);
    if (answer.status !== 402) return this.#keepFree(session, wanted, answer);
    const required = readPaymentRequired(answer, this.known);
    if (required === undefined) {
      throw new WalletError('no_acceptable_offer', 'The server asks for payment, but not by x402.');
    }
    const { intent, record } = await this.#charge(session, wanted, answer.url, required, replaces);
    if (intent.request !== requestDigest(wanted)) throw usedForAnother();
    if (intent.state !== 'reserved' || intent.deal === undefined) {
      return this.#viewOf(wanted.intentId, intent);
    }
    if (record === undefined) return this.#present(session, wanted, intent, intent.deal);
    return this.#presentAgain(session, wanted, { intent, record }, intent.deal);
  }

  /** A payment of an attempt that may have ended anywhere. */
  async #presentAgain(
    session: Session,
    wanted: Purchase,
    { intent, record }: { readonly intent: Intent; readonly record: string },
    deal: Deal,
  ): Promise<PaymentView> {
    const { chainId, asset } = deal.spending;
    const token = this.known.token(chainId, asset);
    if (token === undefined) throw notServed();
    await this.authorizer.assertActive(session);
    const wish = this.#wishOf(wanted, token, deal.spending, record, '');
    await this.authorizer.confirmCharge(session, wish, deal.spending);
    return this.#present(session, wanted, intent, deal);
  }

  /** Takes the first offer, in the seller's order, that the rules and the balance allow. */
  async #charge(
    session: Session,
    wanted: Purchase,
    url: string,
    required: PaymentRequired,
    replaces: string,
  ): Promise<Charged> {
    let reason = new WalletError(
      'no_acceptable_offer',
      `None of the ${required.offered} offers is an exact payment in a token this wallet knows.`,
    );
    for (const offer of required.offers) {
      try {
        checkMaxAmount(offer, wanted.maxAmount);
        await this.balances.check(session.wallet.address, offer.token, offer.amount);
        return await this.#chargeOffer(session, wanted, url, required, offer, replaces);
      } catch (error) {
        if (!(error instanceof WalletError) || !isAboutOffer(error)) throw error;
        reason = error;
      }
    }
    throw reason;
  }

  async #chargeOffer(
    session: Session,
    wanted: Purchase,
    url: string,
    { resource, extensions }: PaymentRequired,
    offer: Offer,
    replaces: string,
  ): Promise<Charged> {
    const { token, requirements, x402Version } = offer;
    const spending = spendingOf(token, offer.method, {
      from: session.wallet.address,
      payTo: offer.payTo,
      amount: offer.amount,
      validAfter: 0n,
      deadline: BigInt(
        this.now() + Math.floor(Math.min(offer.maxTimeoutSeconds, VALIDITY_MAX_SECONDS)),
      ),
      nonce: BigInt(`0x${randomBytes(32).toString('hex')}`),
    });
    const { symbol, decimals } = token;
    const deal: Deal = {
      ...{ x402Version, url, method: wanted.method, requirements, resource, extensions },
      ...{ spending, symbol, decimals },
    };
    const common = { v: 1, url: wanted.url, method: wanted.method } as const;
    const intent: Intent = {
      ...{ ...common, state: 'reserved', request: requestDigest(wanted), at: this.now(), deal },
    };
    const record = JSON.stringify({ ...intent, deal: storedDeal(deal) });
    if (record.length > DEAL_MAX_CHARACTERS) {
      throw new WalletError('no_acceptable_offer', 'The offer is too large.');
    }
    const wish = this.#wishOf(wanted, token, spending, record, replaces);
    const authorized = await this.authorizer.authorize(session, wish);
    if (authorized.kind !== 'intent_exists') return { intent, record: undefined };
    const first = await this.intents.read(session.wallet.address, wanted.intentId);
    if (first === undefined)
      throw new WalletError('unavailable', 'Ask again with the same intent.');
    return first;
  }

  #wishOf(
    { intentId }: Purchase,
    token: WalletAsset,
    spending: Spending,
    record: string,
    replaces: string,
  ): Wish {
    return {
      signable: { kind: 'payment', spending, token },
      what: 'payment_pay',
      digest: tagOf(record),
      intent: { id: intentId, record, replaces, lifeSeconds: this.options.intentLifeSeconds },
    };
  }

  /** Signs the stored payment, the same each time, and gives it to the seller. */
  async #present(
    session: Session,
    wanted: Purchase,
    intent: Intent,
    deal: Deal,
  ): Promise<PaymentView> {
    const { intentId } = wanted;
    const { address } = session.wallet;
    await this.authorizer.assertActive(session);
    const signal = AbortSignal.timeout(this.options.timeoutMs);
    const [name, value] = await this.#sign(session, deal);
    const { url } = deal;
    const isSameOrigin = new URL(url).origin === new URL(wanted.url).origin;
    const headers = isSameOrigin ? wanted.headers : {};
    const request = { url, method: wanted.method, headers, body: wanted.body };
    let answer: FetchAnswer | undefined;
    do {
      if (answer !== undefined) await sleep(PENDING_RETRY_MS);
      try {
        answer = await this.fetcher.present(request, [name, value], signal);
      } catch (error) {
        if (!(error instanceof WalletError) || error.code !== 'fetch_failed') throw error;
        // Whether the seller got it is not known. It keeps its one payment.
        return paymentView(intentId, intent, 'pending');
      }
    } while (isPending(answer) && !signal.aborted);
    const receipt = receiptOf(answer);
    // A redirect is no answer, and the payment does not follow it.
    if (answer.status < 300 || receipt?.['success'] === true) {
      return this.#keepPaid(address, intentId, intent, answer);
    }
    const fate = await this.reconciler.look({ wallet: address, spending: deal.spending });
    const status = fate.kind === 'spent' ? 'paid_without_content' : 'pending';
    const result = resultOf(answer);
    return paymentView(
      intentId,
      { ...intent, result },
      fate.kind === 'unspent' ? 'not_paid' : status,
    );
  }

  async #sign(session: Session, deal: Deal): Promise<readonly [string, string]> {
    const { address } = session.wallet;
    const { chainId, asset, id } = deal.spending;
    const token = this.known.token(chainId, asset);
    const proxy = this.known.permit2Proxy(chainId);
    if (token === undefined || proxy === undefined) throw notServed();
    const terms = {
      from: address,
      payTo: deal.spending.payTo,
      amount: deal.spending.amount,
      validAfter: 0n,
      deadline: BigInt(deal.spending.deadline),
      nonce: deal.spending.nonce,
    };
    let message: TypedData | undefined;
    if (deal.spending.method === 'permit2') message = permit2Message(token, proxy, terms);
    else if (token.eip712 !== undefined) {
      message = eip3009Message({ ...token, eip712: token.eip712 }, terms);
    }
    if (message === undefined)
      throw new WalletError('unavailable', 'The token is not known any more.');
    const signature = await this.signer.signAuthorized(session, message, tagOf(`${address}${id}`));
    const common = { at: this.now(), owner: session.owner, wallet: address };
    await this.journal.append({ event: 'signed', ...common, spending: id });
    return paymentHeader(deal, address, proxy, signature);
  }

  async #keepPaid(
    wallet: Address,
    intentId: string,
    intent: Intent,
    answer: FetchAnswer,
  ): Promise<PaymentView> {
    const sent = receiptOf(answer)?.['transaction'];
    const transaction =
      typeof sent === 'string' && /^0x[0-9a-fA-F]{64}$/.test(sent) ? sent : undefined;
    const paid: Intent = { ...intent, state: 'paid', result: resultOf(answer), transaction };
    const common = { at: this.now(), wallet, intent: intentId, httpStatus: answer.status };
    try {
      await this.journal.append({
        event: 'paid',
        ...{ ...common, transaction: transaction ?? '', spending: intent.deal?.spending.id ?? '' },
      });
      await this.#keep(wallet, intentId, paid);
    } catch (error) {
      // It is paid and answered: what could not be noted must not keep the answer from the buyer.
      if (!(error instanceof FacilitatorError)) throw error;
    }
    return this.#viewOf(intentId, paid);
  }

  async #keepFree(
    { wallet }: Session,
    wanted: Purchase,
    answer: FetchAnswer,
  ): Promise<PaymentView> {
    const { url, method, intentId } = wanted;
    const free: Intent = {
      ...{ v: 1, state: 'free', request: requestDigest(wanted), url, method, at: this.now() },
      result: resultOf(answer),
    };
    // An error may be over by the next try.
    if (answer.status < 400) await this.#keep(wallet.address, intentId, free);
    return this.#viewOf(intentId, free);
  }

  #keep(wallet: Address, intentId: string, intent: Intent): Promise<void> {
    const { deal, ...rest } = intent;
    const stored = { ...rest, ...(deal !== undefined && { deal: storedDeal(deal) }) };
    return this.intents.write(wallet, intentId, stored);
  }

  #viewOf(intentId: string, intent: Intent): PaymentView {
    return paymentView(intentId, intent, intent.state === 'reserved' ? 'pending' : intent.state);
  }
}

function storedDeal(
  deal: Deal,
): Omit<Deal, 'spending'> & { spending: ReturnType<typeof storedSpending> } {
  return { ...deal, spending: storedSpending(deal.spending) };
}

function checkMaxAmount({ amount, token }: Offer, maxAmount: string): void {
  if (amount <= parseUnits(maxAmount, token.decimals)) return;
  throw WalletError.refused({
    rule: 'max_amount',
    message: `It costs ${formatUnits(amount, token.decimals)} ${token.symbol}, which is more than the ${maxAmount} you allowed.`,
  });
}

function notServed(): WalletError {
  return new WalletError('unavailable', 'The network of this payment is not served now.');
}

function usedForAnother(): WalletError {
  return new WalletError('conflict', 'This intent was used for another request before.');
}

/** Whether another offer of the same seller may do. */
function isAboutOffer({ code }: WalletError): boolean {
  return ['policy_violation', 'INSUFFICIENT_FUNDS', 'no_acceptable_offer'].includes(code);
}

function receiptOf({ headers }: FetchAnswer): ReturnType<typeof readHeader> {
  return readHeader(headers['payment-response'] ?? headers['x-payment-response']);
}

function isPending(answer: FetchAnswer): boolean {
  return receiptOf(answer)?.['errorReason'] === 'settlement_pending' && answer.status >= 400;
}

function resultOf({ status, headers, body, isCutOff }: FetchAnswer): Result {
  const text = body.toString('utf8');
  const isText = Buffer.from(text, 'utf8').equals(body);
  return {
    httpStatus: status,
    contentType: headers['content-type'] ?? 'application/octet-stream',
    body: isText ? text : body.toString('base64'),
    encoding: isText ? 'utf8' : 'base64',
    isCutOff,
  };
}
