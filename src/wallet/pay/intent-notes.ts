import type { Address } from 'viem';
import type { FetchAnswer } from '../../platform/fetch/safe-fetch.js';
import { FacilitatorError } from '../../protocol/errors.js';
import { type ChargedDeal, storedIntent } from './charger.js';
import type { Intent, IntentStore } from './intent.js';
import { receiptOf, resultOf } from './presenter.js';

interface IntentNotesParts {
  readonly intents: Pick<IntentStore, 'write'>;
}

/** Notes what became of intents. */
export class IntentNotes {
  constructor(private readonly parts: IntentNotesParts) {}

  /** That a seller has answered as if it were paid; whether it is, the chain says. @returns the intent, as it is now. */
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
      // It is presented and answered: what could not be noted must not keep the answer from the buyer.
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
    const claimed = withAnswer(intent, answer);
    await this.keep(wallet, intentId, claimed, record);
    return claimed;
  }

  /** @param replaces - the text it was read as. What another process has noted since stays. */
  async keep(wallet: Address, intentId: string, intent: Intent, replaces: string): Promise<void> {
    await this.parts.intents.write(wallet, intentId, storedIntent(intent), replaces);
  }
}

/** The transaction is the one that the seller names. */
function withAnswer(intent: Intent, answer: FetchAnswer): Intent {
  const sent = receiptOf(answer)?.['transaction'];
  const transaction =
    typeof sent === 'string' && /^0x[0-9a-fA-F]{64}$/.test(sent) ? sent : undefined;
  return { ...intent, result: resultOf(answer), transaction };
}
