import { Inject, Injectable } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { FetchAnswer, OpenAnswer } from '../../platform/fetch/safe-fetch.js';
import { RedisLock } from '../redis-lock.js';
import type { KnownContracts } from '../rules/decode-typed-data.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { tagOf } from '../wallet-keys.js';
import { WalletObserver } from '../wallet-observer.js';
import {
  KNOWN_CONTRACTS,
  WALLET_CLOCK,
  WALLET_SETTINGS,
  type WalletClock,
} from '../wallet-tokens.js';
import { type ChargedDeal, Charger, type Purchase } from './charger.js';
import type { SavedFile } from './file-saver.js';
import { type Intent, IntentStore, methodOf, requestDigest, type StoredRecord } from './intent.js';
import { noOffer, readPaymentRequired } from './offer.js';
import { PaymentRecords } from './payment-records.js';
import { Presenter, receiptOf, resultOf } from './presenter.js';
import { accessIn, brokenOff, Saving, withoutBody } from './saving.js';
import { askedView, type PaymentView, paymentView, viewOf } from './views.js';

/** A payment that a seller calls settled is in a block; an endpoint may lag by this much. */
const SHOWN_WITHIN_MS = 2000;

interface Answered {
  readonly answer: FetchAnswer;
  readonly file?: SavedFile | undefined;
}

/**
 * Buys: fetches, reads the 402, charges the budget, signs and presents the payment. An intent has one payment: it is
 * stored with its nonce before it is signed, and every later attempt presents the same one, until the chain proves that
 * it can never be executed.
 */
@Injectable()
export class PayService {
  constructor(
    @Inject(KNOWN_CONTRACTS) private readonly known: KnownContracts,
    private readonly charger: Charger,
    private readonly presenter: Presenter,
    private readonly saving: Saving,
    private readonly intents: IntentStore,
    private readonly records: PaymentRecords,
    private readonly locks: RedisLock,
    @Inject(WalletObserver) private readonly observer: WalletObserver,
    @Inject(WALLET_SETTINGS) private readonly settings: WalletConfig,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /** @throws WalletError; except with `outcome_unknown`, nothing was paid. */
  async pay(session: Session, wanted: Purchase): Promise<PaymentView> {
    const { observer } = this;
    try {
      const view = await this.#pay(session, wanted);
      observer.bought({ outcome: view.status });
      return view;
    } catch (error) {
      observer.bought({ outcome: error instanceof WalletError ? error.code : 'failed' });
      throw error;
    }
  }

  #pay(session: Session, wanted: Purchase): Promise<PaymentView> {
    const { locks, intents, saving } = this;
    const { address } = session.wallet;
    saving.assertPossible(wanted);
    return locks.hold(`intent:${address}:${tagOf(wanted.intentId)}`, async () => {
      const stored = await intents.read(address, wanted.intentId);
      if (stored === undefined) return this.#buy(session, wanted, '');
      return this.#goOn(session, wanted, stored);
    });
  }

  /** Continues with a stored intent. */
  async #goOn(session: Session, wanted: Purchase, stored: StoredRecord): Promise<PaymentView> {
    const { intent, record } = stored;
    const { address } = session.wallet;
    if (intent.request !== requestDigest(wanted)) throw usedForAnother();
    if (intent.state === 'paid') {
      const view = await this.records.shown(address, wanted.intentId, stored);
      // Proven never to be executed, whatever the seller claimed, so the intent may be paid again.
      if (view.status === 'not_paid') return this.#buy(session, wanted, record);
    }
    if (intent.state !== 'reserved') return this.#save(session, wanted, stored);
    const { deal } = intent;
    if (deal === undefined) return this.#buy(session, wanted, record);
    const isOver = deal.spending.deadline <= this.now();
    if (isOver || intent.result !== undefined) {
      const status = await this.records.chainStatusOf(address, intent, deal.spending);
      // Proven never to be executed, so the intent may be paid again.
      if (status === 'not_paid') return this.#buy(session, wanted, record);
      if (status === 'paid_without_content' && wanted.save !== undefined) {
        return this.#save(session, wanted, {
          record,
          intent: { ...intent, ...paidFor(wanted.save) },
        });
      }
      if (isOver || status === 'paid') return this.records.shown(address, wanted.intentId, stored);
    }
    return this.#tryAgain(session, wanted, stored, deal);
  }

  /** An earlier charge may be signed and in flight, whatever the present rules are. */
  async #tryAgain(
    session: Session,
    wanted: Purchase,
    stored: StoredRecord,
    { spending }: ChargedDeal['deal'],
  ): Promise<PaymentView> {
    const { intent } = stored;
    try {
      const charged = await this.charger.chargeAgain(session, wanted, stored);
      if (charged.kind === 'charged') return await this.#present(session, wanted, charged);
      return viewOf(wanted.intentId, charged.kind === 'exists' ? charged.intent : intent);
    } catch (error) {
      if (!(error instanceof WalletError) || error.code !== 'policy_violation') throw error;
      const { address } = session.wallet;
      const status = await this.records.chainStatusOf(address, intent, spending);
      const view = paymentView(wanted.intentId, { ...intent, transaction: undefined }, status);
      return { ...view, message: `${view.message} ${error.message}` };
    }
  }

  /** @param replaces - the record of an ended payment; empty for none. */
  async #buy(session: Session, wanted: Purchase, replaces: string): Promise<PaymentView> {
    const { known, charger } = this;
    const { answer, file } = await this.#ask(session, wanted);
    if (answer.status !== 402) return this.#keepFree(session, wanted, { answer, file }, replaces);
    const required = readPaymentRequired(answer, known);
    if (required === undefined) throw noOffer(answer);
    const { url } = answer;
    if (wanted.save !== undefined) {
      for (const { requirements } of required.offers) this.saving.assertSize(requirements);
    }
    const charged = await charger.charge(session, wanted, { ...required, url }, replaces);
    if (charged.kind === 'charged') return this.#present(session, wanted, charged);
    if (charged.kind === 'exists') return this.#goOn(session, wanted, charged);
    const standing = { ask: charged.ask, state: 'waiting' } as const;
    return askedView(standing, this.settings.publicUrl, this.now());
  }

  /** Requests the resource without a payment. */
  async #ask(session: Session, wanted: Purchase): Promise<Answered> {
    if (wanted.save !== undefined) return this.saving.ask(session, wanted);
    return { answer: await this.presenter.ask(wanted) };
  }

  async #present(session: Session, wanted: Purchase, charged: ChargedDeal): Promise<PaymentView> {
    if (wanted.save !== undefined)
      return this.#presentToSave(session, wanted, charged, wanted.save);
    const answer = await this.presenter.present(session, wanted, charged);
    return this.#presented(session, wanted, charged, answer);
  }

  /** The payment is recorded before the first byte is saved, so that a later request can continue. */
  async #presentToSave(
    session: Session,
    wanted: Purchase,
    charged: ChargedDeal,
    { name }: NonNullable<Purchase['save']>,
  ): Promise<PaymentView> {
    return this.saving.during(async (signal) => {
      const first = await this.presenter.open(session, wanted, charged, signal);
      if (first?.status !== 200) {
        const rest = await first?.start().catch(brokenOff);
        const answer = first && rest && { ...first, ...rest };
        return this.#presented(session, wanted, charged, answer);
      }
      const save = { name, access: accessIn(first) };
      const intent = await this.records.answered(session.wallet.address, wanted.intentId, charged, {
        answer: withoutBody(first),
        save,
      });
      return this.#save(session, wanted, { intent, record: charged.record }, { signal, first });
    });
  }

  /** @returns the paid purchase, saved as far as possible. */
  async #save(
    session: Session,
    wanted: Purchase,
    { intent, record }: StoredRecord,
    how?: { readonly signal: AbortSignal; readonly first: OpenAnswer },
  ): Promise<PaymentView> {
    const { intentId } = wanted;
    const { address } = session.wallet;
    const { deal, state, result } = intent;
    // An intent restored from the journal lacks the answer and the name to save it under.
    const isLost = state === 'paid' && result === undefined;
    const save = intent.save ?? (isLost ? wanted.save : undefined);
    if (deal === undefined || save === undefined || intent.save?.file !== undefined) {
      return this.records.shown(address, intentId, { intent, record });
    }
    const { saving } = this;
    try {
      const paid = { deal, access: intent.save?.access };
      const { size, sha256 } = await (how === undefined
        ? saving.during((signal) => saving.savePaid(session, wanted, paid, { signal }))
        : saving.savePaid(session, wanted, paid, how));
      const saved = { ...intent, save: { ...save, file: { size, sha256 } } };
      await this.records.keep(address, intentId, saved, record);
      return await this.records.shown(
        address,
        intentId,
        { intent: saved, record },
        SHOWN_WITHIN_MS,
      );
    } catch (error) {
      if (!(error instanceof WalletError)) throw error;
      const view = paymentView(intentId, { ...intent, save }, 'paid_not_saved');
      return { ...view, message: `${view.message} ${error.message}` };
    }
  }

  async #presented(
    session: Session,
    { intentId, save }: Purchase,
    charged: ChargedDeal,
    answer: FetchAnswer | undefined,
  ): Promise<PaymentView> {
    const { address } = session.wallet;
    const { intent, record } = charged;
    // The intent keeps its one payment.
    if (answer === undefined) return paymentView(intentId, intent, 'pending');
    const isSuccess = receiptOf(answer)?.['success'] === true;
    // A redirect is not an answer, and the payment does not follow it.
    if (answer.status < 300) {
      const paid = await this.records.answered(address, intentId, charged, { answer });
      const patienceMs = isSuccess ? SHOWN_WITHIN_MS : 0;
      return this.records.shown(address, intentId, { intent: paid, record }, patienceMs);
    }
    // An error answer of a paid seller is final once the chain shows the payment.
    if (save === undefined && isSuccess) {
      const claimed = await this.records.claimed(address, intentId, charged, answer);
      return this.records.shown(address, intentId, { intent: claimed, record });
    }
    const status = await this.records.chainStatusOf(address, intent, charged.deal.spending);
    const { result = resultOf(answer) } = intent;
    return paymentView(intentId, { ...intent, result, transaction: undefined }, status);
  }

  async #keepFree(
    session: Session,
    wanted: Purchase,
    { answer, file }: Answered,
    replaces: string,
  ): Promise<PaymentView> {
    const { url, intentId } = wanted;
    const free: Intent = {
      v: 1,
      state: 'free',
      request: requestDigest(wanted),
      url,
      at: this.now(),
      method: methodOf(wanted),
      result: resultOf(answer),
      ...(file !== undefined && { save: { name: file.name, file } }),
    };
    // An error may be gone at the next attempt.
    if (answer.status < 400) {
      await this.records.keep(session.wallet.address, intentId, free, replaces);
    }
    return viewOf(intentId, free);
  }
}

/** The record of a purchase with a lost answer, whose payment the chain proves. */
function paidFor({ name }: NonNullable<Purchase['save']>): Pick<Intent, 'state' | 'save'> {
  return { state: 'paid', save: { name } };
}

function usedForAnother(): WalletError {
  return new WalletError('conflict', 'This intent was used for another request before.');
}
