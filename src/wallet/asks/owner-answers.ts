import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { Journal } from '../audit/journal.js';
import { type SignedMessage, SignIn, type SignInMessage } from '../auth/sign-in.js';
import { RedisLock } from '../redis-lock.js';
import { STOPPED } from '../rules/evaluate.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { askKey } from '../wallet-keys.js';
import { WALLET_CLOCK, type WalletClock } from '../wallet-tokens.js';
import { type Ask, AskTexts, type CurrentAsk, statementOf } from './ask.js';
import { type AnswerResult, AskStore } from './ask-store.js';

/**
 * The owner's side of an approval. An approval is a signature over a message that names the payment, and it is in the
 * journal before it counts. A refusal needs only the link, because it moves no money.
 */
@Injectable()
export class OwnerAnswers {
  constructor(
    private readonly store: AskStore,
    private readonly texts: AskTexts,
    private readonly signIn: SignIn,
    private readonly directory: WalletDirectory,
    private readonly journal: Journal,
    private readonly locks: RedisLock,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /** @throws WalletError `not_found` for a request that never existed, or expired long ago. */
  async find(id: string): Promise<CurrentAsk> {
    const standing = await this.store.find(id);
    if (standing !== undefined) return standing;
    throw new WalletError('not_found', 'There is no such request, or the request has ended.');
  }

  /** The requests of a wallet that have not expired, including denied ones. */
  open({ wallet }: Session): Promise<readonly CurrentAsk[]> {
    return this.store.open(wallet.address, this.now());
  }

  /** @throws WalletError `forbidden` for everybody except the owner, `conflict` where it is too late. */
  async challenge(id: string, owner: Address): Promise<SignInMessage> {
    const ask = await this.#answerable(id);
    assertOwner(ask, owner);
    return this.signIn.challenge(owner, statementOf(ask), askKey(id));
  }

  /** @throws WalletError as {@link challenge}; `unauthorized` for a signature over another message. */
  approve(id: string, signed: SignedMessage): Promise<void> {
    return this.locks.hold(`ask:${id}`, async () => {
      const ask = await this.#answerable(id);
      const { owner } = await this.signIn.accept(signed, statementOf(ask), askKey(id));
      assertOwner(ask, owner);
      await this.#note(ask, 'approved');
    });
  }

  /** Also revokes an approval that was not used. */
  deny(id: string): Promise<void> {
    return this.locks.hold(`ask:${id}`, async () => {
      const { ask, state } = await this.find(id);
      if (state === 'used') throw alreadyUsed();
      if (state !== 'denied') await this.#note(ask, 'denied');
    });
  }

  /** A request that can be approved: the rules are unchanged, the wallet is active, and the time is not over. */
  async #answerable(id: string): Promise<Ask> {
    const { ask, state } = await this.find(id);
    if (state === 'used') throw alreadyUsed();
    if (state !== 'waiting') throw new WalletError('conflict', `This request is already ${state}.`);
    if (this.now() >= ask.until) throw isOver();
    const wallet = await this.directory.find(ask.owner);
    if (wallet?.address !== ask.wallet)
      throw new WalletError('not_found', 'There is no such wallet.');
    const { revision, active } = await this.directory.policyOf(ask.owner, wallet);
    if (!active) throw WalletError.refused(STOPPED);
    if (revision !== ask.revision) throw rulesChanged();
    return ask;
  }

  async #note(ask: Ask, answer: 'approved' | 'denied'): Promise<void> {
    const { store, texts, journal, now } = this;
    const { owner, wallet, id, until, intentId } = ask;
    const text = texts.write(answer, ask);
    await journal.append({
      event: answer === 'approved' ? 'ask_approved' : 'ask_denied',
      at: now(),
      owner,
      wallet,
      ask: id,
      until,
      intent: { id: intentId, record: text },
    });
    assertNoted(await store.answer(ask, text, answer === 'approved'));
  }
}

function assertOwner(ask: Ask, owner: Address): void {
  if (ask.owner === owner) return;
  throw new WalletError('forbidden', 'This wallet belongs to another owner.');
}

function assertNoted(result: AnswerResult): void {
  switch (result) {
    case 'ok':
      return;
    case 'used':
      throw alreadyUsed();
    case 'changed':
      throw rulesChanged();
    case 'gone':
      throw isOver();
    case 'denied':
      throw new WalletError('conflict', 'This request is already denied.');
    case 'locked':
      throw new WalletError('unavailable', 'The wallet is being restored. Try again.');
  }
}

function alreadyUsed(): WalletError {
  return new WalletError('conflict', 'This request was approved, and its payment was made.');
}

function isOver(): WalletError {
  return new WalletError('conflict', 'The request has expired: the agent has to ask again.');
}

function rulesChanged(): WalletError {
  return new WalletError(
    'conflict',
    'The rules changed after the request: the agent has to ask again.',
  );
}
