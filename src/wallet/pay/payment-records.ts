import type { Address } from 'viem';
import type { Asking } from '../asks/asking.js';
import type { Reconciler } from '../budget/reconciler.js';
import type { SpendingStore } from '../budget/spending-store.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import type { AcceptedOffer, Intent, IntentStore } from './intent.js';
import { askedView, type PaymentStatus, type PaymentView, paymentView, viewOf } from './views.js';

export interface PaymentRecordsParts {
  readonly intents: Pick<IntentStore, 'read'>;
  readonly asking: Pick<Asking, 'ofIntent'>;
  readonly store: Pick<SpendingStore, 'history'>;
  readonly reconciler: Pick<Reconciler, 'look'>;
  readonly publicUrl: string;
  /** Unix seconds. */
  readonly now: () => number;
}

/** Tells what became of purchases; pays nothing. */
export class PaymentRecords {
  constructor(private readonly parts: PaymentRecordsParts) {}

  /** What became of an intent. Looks at the chain where that can tell more. */
  async status(session: Session, intentId: string): Promise<PaymentView> {
    const { address } = session.wallet;
    const stored = await this.parts.intents.read(address, intentId);
    if (stored === undefined) {
      const asked = await this.#askedView(session, intentId);
      if (asked !== undefined) return asked;
      throw new WalletError('not_found', 'There is no such intent.');
    }
    const { intent } = stored;
    if (intent.state !== 'reserved' || intent.deal === undefined) return viewOf(intentId, intent);
    const status = await this.standingOf(address, intent, intent.deal.spending);
    const asked = status === 'not_paid' ? await this.#askedView(session, intentId) : undefined;
    return asked ?? paymentView(intentId, intent, status);
  }

  /** The newest purchases, newest first, without their answers. */
  async history({ wallet }: Session, limit: number): Promise<PaymentView[]> {
    const { store, intents } = this.parts;
    const ids = await store.history(wallet.address, limit);
    const stored = await Promise.all(
      ids.map((id) => intents.read(wallet.address, id).catch(leftOut)),
    );
    return stored.flatMap((one, at) => {
      if (one === undefined) return [];
      const { result, ...intent } = one.intent;
      const view = viewOf(ids[at] ?? '', intent);
      return [{ ...view, ...(result !== undefined && { httpStatus: result.httpStatus }) }];
    });
  }

  /** What the owner is asked for an intent, where nothing was charged for it since. */
  async #askedView(session: Session, intentId: string): Promise<PaymentView | undefined> {
    const standing = await this.parts.asking.ofIntent(session, intentId);
    if (standing === undefined || standing.state === 'used') return undefined;
    const { publicUrl, now } = this.parts;
    return askedView(standing, publicUrl, now());
  }

  /** Where a purchase that was charged stands, by the chain: what a seller says of it is no evidence. */
  async standingOf(
    wallet: Address,
    { result }: Pick<Intent, 'result'>,
    spending: AcceptedOffer['spending'],
  ): Promise<Extract<PaymentStatus, 'not_paid' | 'pending' | 'paid' | 'paid_without_content'>> {
    const { kind } = await this.parts.reconciler.look({ wallet, spending });
    if (kind === 'unspent') return 'not_paid';
    if (kind === 'open') return 'pending';
    return result === undefined ? 'paid_without_content' : 'paid';
  }
}

/** One purchase that cannot be opened hides no other. */
function leftOut(error: unknown): undefined {
  if (!(error instanceof WalletError)) throw error;
}
