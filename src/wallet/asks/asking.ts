import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { FetchRequest } from '../../platform/fetch/safe-fetch.js';
import { requestDigest } from '../pay/intent.js';
import type { AskRule } from '../rules/evaluate.js';
import type { Spending } from '../rules/spending.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import { type Ask, type CurrentAsk, statementOf } from './ask.js';
import { ASKS_MAX, AskStore } from './ask-store.js';

const ATTEMPTS = 3;
/** The text that an owner signs must fit into a request, although a seller may choose an address of any length. */
const STATEMENT_MAX_CHARACTERS = 3072;

/** A payment that the rules allow with the owner's signature alone. */
export interface WantedApproval {
  readonly wanted: FetchRequest & { readonly intentId: string };
  readonly deal: {
    readonly url: string;
    readonly method: string;
    readonly spending: Spending;
    readonly symbol: string;
    readonly decimals: number;
  };
  readonly rule: AskRule;
  /** Of the rules that ask. */
  readonly revision: number;
}

/** The agent's side of asking: an owner is asked once about a payment, and the answer is found again. */
@Injectable()
export class Asking {
  constructor(
    private readonly store: AskStore,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'askSeconds'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /**
   * What the owner says to this payment: `waiting`, `approved`, or nothing yet. An answer holds for
   * one payment. With another payee, a higher price, another request or other rules the owner is
   * asked again.
   *
   * @throws WalletError `policy_violation` where the owner said no.
   */
  async answerTo(session: Session, approval: WantedApproval): Promise<CurrentAsk | undefined> {
    const current = await this.ofIntent(session, approval.wanted.intentId);
    if (current === undefined || !this.#isAbout(current.ask, approval)) return undefined;
    if (current.state === 'denied') throw denied();
    return current.state === 'used' ? undefined : current;
  }

  /**
   * Asks the owner, in the place of what was asked for the same intent before.
   *
   * @throws WalletError `policy_violation` where too many wait already.
   */
  async ask(session: Session, approval: WantedApproval): Promise<Ask> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // Another call may have asked the same meanwhile.
      const current = attempt === 0 ? undefined : await this.answerTo(session, approval);
      if (current !== undefined) return current.ask;
      const replaces = await this.store.idOf(session.wallet.address, approval.wanted.intentId);
      const ask = this.#askFor(session, approval);
      switch (await this.store.ask(ask, replaces, ask.at)) {
        case 'ok':
          return ask;
        case 'many':
          throw WalletError.refused({
            rule: 'too_many_asks',
            message: `The owner is asked about ${ASKS_MAX} payments already. Wait until the owner has answered one, or one has expired.`,
          });
        case 'locked':
        case 'changed':
        case 'exists':
      }
    }
    throw new WalletError('unavailable', 'The rules are being changed. Try again.');
  }

  /** The newest ask of an intent; `undefined` where none is remembered. */
  async ofIntent({ wallet }: Session, intentId: string): Promise<CurrentAsk | undefined> {
    const id = await this.store.idOf(wallet.address, intentId);
    const current = id === undefined ? undefined : await this.store.find(id);
    return current?.ask.wallet === wallet.address && current.ask.intentId === intentId
      ? current
      : undefined;
  }

  /** Whether an answer to it is one to this payment. */
  #isAbout(ask: Ask, { wanted, deal, revision }: WantedApproval): boolean {
    const { chainId, asset, payTo, amount } = deal.spending;
    return (
      ask.intentId === wanted.intentId &&
      ask.request === requestDigest(wanted) &&
      ask.url === deal.url &&
      ask.method === deal.method &&
      ask.chainId === chainId &&
      ask.asset === asset &&
      ask.payTo === payTo &&
      amount <= ask.amount &&
      ask.revision === revision &&
      this.now() < ask.until
    );
  }

  #askFor({ owner, wallet }: Session, { wanted, deal, rule, revision }: WantedApproval): Ask {
    const at = this.now();
    const { chainId, asset, payTo, amount } = deal.spending;
    const ask: Ask = {
      v: 1,
      id: randomBytes(16).toString('base64url'),
      owner,
      wallet: wallet.address,
      intentId: wanted.intentId,
      request: requestDigest(wanted),
      url: deal.url,
      method: deal.method,
      chainId,
      asset,
      payTo,
      amount,
      symbol: deal.symbol,
      decimals: deal.decimals,
      list: rule.list,
      askAbove: rule.askAbove,
      revision,
      at,
      until: at + this.settings.askSeconds,
    };
    if (statementOf(ask).length <= STATEMENT_MAX_CHARACTERS) return ask;
    throw new WalletError('fetch_refused', 'The address is too long for an owner to approve.');
  }
}

function denied(): WalletError {
  return WalletError.refused({
    rule: 'denied_by_owner',
    message: 'The owner was asked about this payment and said no.',
  });
}
