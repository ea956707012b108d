import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { Address, Hex } from 'viem';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { FetchAnswer } from '../../platform/fetch/safe-fetch.js';
import { FacilitatorError } from '../../protocol/errors.js';
import { ApprovalRequests } from '../asks/approval-requests.js';
import { Journal } from '../audit/journal.js';
import { Reconciler } from '../budget/reconciler.js';
import { SpendingStore } from '../budget/spending-store.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import { type ChargedDeal, storedIntent } from './charger.js';
import {
  type AcceptedOffer,
  type Intent,
  IntentStore,
  type StoredIntent,
  type StoredRecord,
} from './intent.js';
import { receiptOf, resultOf } from './presenter.js';
import { PurchaseRoom } from './purchase-room.js';
import { askedView, type PaymentStatus, type PaymentView, paymentView, viewOf } from './views.js';

const LOOK_AGAIN_MS = 250;

/** Records and returns the results of purchases; it pays nothing. */
@Injectable()
export class PaymentRecords {
  constructor(
    @Inject(IntentStore) private readonly intents: Pick<IntentStore, 'read' | 'write'>,
    @Inject(PurchaseRoom) private readonly room: Pick<PurchaseRoom, 'takeAnswer'>,
    @Inject(ApprovalRequests) private readonly approvals: Pick<ApprovalRequests, 'ofIntent'>,
    @Inject(SpendingStore) private readonly store: Pick<SpendingStore, 'history'>,
    @Inject(Reconciler) private readonly reconciler: Pick<Reconciler, 'look' | 'transactionOf'>,
    @Inject(Journal) private readonly journal: Pick<Journal, 'append'>,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'publicUrl'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /** The state of an intent. Reads the chain where it may know more. */
  async status(session: Session, intentId: string): Promise<PaymentView> {
    const { address } = session.wallet;
    const stored = await this.intents.read(address, intentId);
    if (stored === undefined) {
      const asked = await this.#askedView(session, intentId);
      if (asked !== undefined) return asked;
      throw new WalletError('not_found', 'There is no such intent.');
    }
    const { intent } = stored;
    const view = await this.shown(address, intentId, stored);
    if (intent.state !== 'reserved' || view.status !== 'not_paid') return view;
    return (await this.#askedView(session, intentId)) ?? view;
  }

  /**
   * A purchase as the chain shows it. A final result is stored with its transaction.
   *
   * @param patienceMs - how long the chain is asked again about a payment that it does not show.
   */
  async shown(
    wallet: Address,
    intentId: string,
    { intent, record }: StoredRecord,
    patienceMs = 0,
  ): Promise<PaymentView> {
    const { deal, state, isProven } = intent;
    if (deal === undefined || state === 'free' || isProven === true)
      return viewOf(intentId, intent);
    const due = { wallet, spending: deal.spending };
    const until = performance.now() + patienceMs;
    let outcome = await this.reconciler.look(due);
    while (outcome.kind === 'open' && performance.now() < until) {
      await sleep(LOOK_AGAIN_MS);
      outcome = await this.reconciler.look(due);
    }
    if (outcome.kind === 'unspent') return paymentView(intentId, intent, 'not_paid');
    const status = viewOf(intentId, intent).status;
    if (outcome.kind === 'open' || (state === 'reserved' && outcome.kind === 'seen')) {
      const isAnswered = state === 'paid' && status !== 'paid_not_saved';
      return paymentView(intentId, intent, isAnswered ? 'presented' : status);
    }
    const claimed = intent.transaction as Hex | undefined;
    const transaction = await this.reconciler.transactionOf(due, claimed);
    const seen: Intent = { ...intent, transaction };
    if (state === 'paid' && outcome.kind === 'spent') {
      await this.#keepProven(wallet, intentId, { intent: seen, record });
    }
    if (status === 'paid_not_saved') return paymentView(intentId, seen, status);
    const isAnswered = intent.result !== undefined || intent.save?.file !== undefined;
    return paymentView(intentId, seen, isAnswered ? 'paid' : 'paid_without_content');
  }

  /**
   * Records that a seller has answered as if it were paid; the chain says whether it is. @returns the intent as it is
   * now.
   */
  async answered(
    wallet: Address,
    intentId: string,
    { intent, record }: ChargedDeal,
    { answer, save }: { readonly answer: FetchAnswer; readonly save?: Intent['save'] },
  ): Promise<Intent> {
    const paid: Intent = { ...withAnswer(intent, answer), state: 'paid', save };
    try {
      await this.keep(wallet, intentId, paid, record);
    } catch (error) {
      // The payment is presented and answered, so a failed record must not keep the answer from the buyer.
      if (!(error instanceof FacilitatorError)) throw error;
    }
    return paid;
  }

  /** Stores an answer that claims to be paid until the chain shows it. @returns the intent with it. */
  async claimed(
    wallet: Address,
    intentId: string,
    { intent, record }: ChargedDeal,
    answer: FetchAnswer,
  ): Promise<Intent> {
    const claimed = withAnswer(intent, answer);
    await this.keep(wallet, intentId, claimed, record);
    return claimed;
  }

  /**
   * An answer without room is not stored. Without it a free purchase is made again, and a paid one stays paid.
   *
   * @param replaces - the text that was read. A later record of another process stays.
   */
  async keep(wallet: Address, intentId: string, intent: Intent, replaces: string): Promise<void> {
    const stored = storedIntent(intent);
    const hasRoom =
      intent.result === undefined ||
      (await this.room.takeAnswer(wallet, Buffer.byteLength(JSON.stringify(stored))));
    if (hasRoom) await this.intents.write(wallet, intentId, stored, replaces);
    else if (intent.state !== 'free') {
      await this.intents.write(wallet, intentId, withoutBody(stored), replaces);
    }
  }

  /**
   * If the journal cannot store it now, the next request proves it again. An answer that is stored takes no more room, and
   * one that had no room gets none.
   */
  async #keepProven(
    wallet: Address,
    intentId: string,
    { intent, record }: StoredRecord,
  ): Promise<void> {
    const { deal, result, transaction = '' } = intent;
    if (deal === undefined) return;
    try {
      if (result !== undefined) {
        await this.journal.append({
          event: 'paid',
          at: this.now(),
          wallet,
          intent: intentId,
          spending: deal.spending.id,
          transaction,
          httpStatus: result.httpStatus,
        });
      }
      const proven = { ...intent, isProven: true };
      const there = (await this.intents.read(wallet, intentId))?.intent;
      const isStored =
        there?.state === 'paid' &&
        there.result !== undefined &&
        there.deal?.spending.id === deal.spending.id;
      if (isStored) {
        const stored = storedIntent({ ...proven, result: there.result });
        await this.intents.write(wallet, intentId, stored, record);
      } else {
        await this.keep(wallet, intentId, proven, record);
      }
    } catch (error) {
      // It is paid, so a failed record must not keep the answer from the buyer.
      if (!(error instanceof FacilitatorError)) throw error;
    }
  }

  /** The newest purchases, newest first, without their answers. */
  async history({ wallet }: Session, limit: number): Promise<PaymentView[]> {
    const { store, intents } = this;
    const ids = await store.history(wallet.address, limit);
    const stored = await Promise.all(
      ids.map((id) => intents.read(wallet.address, id).catch(leftOut)),
    );
    const known = stored.flatMap((one, at) => {
      if (one === undefined) return [];
      return [{ id: ids[at] ?? '', one }];
    });
    const views = await Promise.all(
      known.map(({ id, one }) =>
        // An intent whose outcome the chain may never show is looked up only when it is requested by name.
        one.intent.state === 'paid'
          ? this.shown(wallet.address, id, one)
          : Promise.resolve(viewOf(id, one.intent)),
      ),
    );
    return views.map(({ body, bodyEncoding, isCutOff, contentType, ...view }) => view);
  }

  /** The open request to the owner for an intent, if nothing was charged for it since. */
  async #askedView(session: Session, intentId: string): Promise<PaymentView | undefined> {
    const standing = await this.approvals.ofIntent(session, intentId);
    if (standing === undefined || standing.state === 'used') return undefined;
    return askedView(standing, this.settings.publicUrl, this.now());
  }

  /** The state of a charged purchase by the chain, because a seller's claim is no evidence. */
  async chainStatusOf(
    wallet: Address,
    { result }: Pick<Intent, 'result'>,
    spending: AcceptedOffer['spending'],
  ): Promise<Extract<PaymentStatus, 'not_paid' | 'pending' | 'paid' | 'paid_without_content'>> {
    const { kind } = await this.reconciler.look({ wallet, spending });
    if (kind === 'unspent') return 'not_paid';
    if (kind === 'open' || kind === 'seen') return 'pending';
    return result === undefined ? 'paid_without_content' : 'paid';
  }
}

function withoutBody({ result, ...stored }: StoredIntent): StoredIntent {
  return result === undefined
    ? stored
    : { ...stored, result: { ...result, body: '', isCutOff: true } };
}

/** A purchase that cannot be decrypted hides no other. */
function leftOut(error: unknown): undefined {
  if (!(error instanceof WalletError)) throw error;
}

/** The transaction is the one from the seller. */
function withAnswer(intent: Intent, answer: FetchAnswer): Intent {
  const sent = receiptOf(answer)?.['transaction'];
  const transaction =
    typeof sent === 'string' && /^0x[0-9a-fA-F]{64}$/.test(sent) ? sent : undefined;
  return { ...intent, result: resultOf(answer), transaction };
}
