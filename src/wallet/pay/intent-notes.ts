import type { Address } from 'viem';
import type { FetchAnswer } from '../../platform/fetch/safe-fetch.js';
import { FacilitatorError } from '../../protocol/errors.js';
import type { Journal } from '../audit/journal.js';
import { type ChargedDeal, storedIntent } from './charger.js';
import { chargeCountOf, type Intent, type IntentStore } from './intent.js';
import { receiptOf, resultOf } from './presenter.js';

export interface IntentNotesParts {
  readonly intents: Pick<IntentStore, 'write'>;
  readonly journal: Pick<Journal, 'append'>;
  /** Unix seconds. */
  readonly now: () => number;
}

/** Notes what became of intents. */
export class IntentNotes {
  constructor(private readonly parts: IntentNotesParts) {}

  /** That an intent is paid and answered. @returns it, as it is now. */
  async paid(
    wallet: Address,
    intentId: string,
    { intent, record, deal }: ChargedDeal,
    { answer, save }: { readonly answer: FetchAnswer; readonly save?: Intent['save'] },
  ): Promise<Intent> {
    const sent = receiptOf(answer)?.['transaction'];
    const transaction =
      typeof sent === 'string' && /^0x[0-9a-fA-F]{64}$/.test(sent) ? sent : undefined;
    const paid: Intent = { ...intent, state: 'paid', result: resultOf(answer), transaction, save };
    const common = { at: this.parts.now(), wallet, intent: intentId, httpStatus: answer.status };
    const paidBy = { transaction: transaction ?? '', spending: deal.spending.id };
    try {
      await this.parts.journal.append({ event: 'paid', ...common, ...paidBy });
      await this.keep(wallet, intentId, paid, chargeCountOf(record));
    } catch (error) {
      // It is paid and answered: what could not be noted must not keep the answer from the buyer.
      if (!(error instanceof FacilitatorError)) throw error;
    }
    return paid;
  }

  /** @param charged - how many payments of it there were. */
  keep(wallet: Address, intentId: string, intent: Intent, charged: number): Promise<void> {
    return this.parts.intents.write(wallet, intentId, storedIntent(intent), charged);
  }
}
