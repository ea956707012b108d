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
/** The text that an owner signs must fit into a request, but a seller may choose an address of any length. */
const STATEMENT_MAX_CHARACTERS = 3072;

/** A payment that the rules allow only with the owner's signature. */
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
  /** The revision of the rules that require the approval. */
  readonly revision: number;
}

/** The agent's side of an approval: an owner is asked once about a payment, and the answer is found again. */
@Injectable()
export class ApprovalRequests {
  constructor(
    private readonly store: AskStore,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'askSeconds'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /**
   * The owner's answer about this payment: `waiting`, `approved`, or none yet. An answer is valid for one payment. For
   * another payee, a higher price, another request or other rules, the owner is asked again.
   *
   * @throws WalletError `policy_violation` where the owner denied it.
   */
  async answerTo(session: Session, approval: WantedApproval): Promise<CurrentAsk | undefined> {
    const current = await this.ofIntent(session, approval.wanted.intentId);
    if (current === undefined || !this.#isAbout(current.ask, approval)) return undefined;
    if (current.state === 'denied') throw denied();
    return current.state === 'used' ? undefined : current;
  }

  /**
   * Asks the owner; a request for the same intent is replaced.
   *
   * @throws WalletError `policy_violation` where too many requests are waiting.
   */
  async ask(session: Session, approval: WantedApproval): Promise<Ask> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // Another call may have made the same request meanwhile.
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
            message: `${ASKS_MAX} payments already wait for an answer of the owner. Wait until the owner answers one request, or one request expires.`,
          });
        case 'locked':
        case 'changed':
        case 'exists':
      }
    }
    throw new WalletError('unavailable', 'The rules are being changed. Try again.');
  }

  /** The newest request of an intent; `undefined` if none is stored. */
  async ofIntent({ wallet }: Session, intentId: string): Promise<CurrentAsk | undefined> {
    const id = await this.store.idOf(wallet.address, intentId);
    const current = id === undefined ? undefined : await this.store.find(id);
    return current?.ask.wallet === wallet.address && current.ask.intentId === intentId
      ? current
      : undefined;
  }

  /** Whether an answer to this request applies to this payment. */
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
    throw new WalletError('fetch_refused', 'The URL is too long for an owner to approve.');
  }
}

function denied(): WalletError {
  return WalletError.refused({
    rule: 'denied_by_owner',
    message: 'The owner denied this payment.',
  });
}
