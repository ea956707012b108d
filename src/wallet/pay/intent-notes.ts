import type { Address } from 'viem';
import type { FetchAnswer } from '../../platform/fetch/safe-fetch.js';
import { FacilitatorError } from '../../protocol/errors.js';
import type { Journal } from '../audit/journal.js';
import { type ChargedDeal, storedIntent } from './charger.js';
import type { Intent, IntentStore } from './intent.js';
import { receiptOf, resultOf } from './presenter.js';

interface IntentNotesParts {
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
    const paid: Intent = { ...answered(intent, answer), state: 'paid', save };
    const common = { at: this.parts.now(), wallet, intent: intentId, httpStatus: answer.status };
    const paidBy = { transaction: paid.transaction ?? '', spending: deal.spending.id };
    try {
      await this.parts.journal.append({ event: 'paid', ...common, ...paidBy });
      await this.keep(wallet, intentId, paid, record);
    } catch (error) {
      // It is paid and answered: what could not be noted must not keep the answer from the buyer.
      if (!(error instanceof FacilitatorError)) throw error;
    }
    return paid;
  }

  /** An answer that says to be paid for, kept until the chain says so too. @returns the intent with it. */
  async claimed(
    wallet: Address,
    intentId: string,
    { intent, record }: ChargedDeal,
    answer: FetchAnswer,
  ): Promise<Intent> {
    const claimed = answered(intent, answer);
    await this.keep(wallet, intentId, claimed, record);
    return claimed;
  }

  /** @param replaces - the text it was read as. What another process has noted since stays. */
  async keep(wallet: Address, intentId: string, intent: Intent, replaces: string): Promise<void> {
    await this.parts.intents.write(wallet, intentId, storedIntent(intent), replaces);
  }
}

/** The transaction is the one that the seller names. */
function answered(intent: Intent, answer: FetchAnswer): Intent {
  const sent = receiptOf(answer)?.['transaction'];
  const transaction =
    typeof sent === 'string' && /^0x[0-9a-fA-F]{64}$/.test(sent) ? sent : undefined;
  return { ...intent, result: resultOf(answer), transaction };
}
