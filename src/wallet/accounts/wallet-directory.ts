import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { Journal } from '../audit/journal.js';
import type { JournalState } from '../audit/journal-state.js';
import { WalletRestorer } from '../budget/rebuild.js';
import type { CustodialWallet, WalletProvider } from '../provider/wallet-provider.js';
import { RedisLock } from '../redis-lock.js';
import { firstPolicy, type Policy, policyText } from '../rules/policy.js';
import { WalletError } from '../wallet-error.js';
import {
  WALLET_CLOCK,
  WALLET_PROVIDER,
  WALLET_SETTINGS,
  type WalletClock,
} from '../wallet-tokens.js';
import { NewWallets } from './new-wallets.js';
import { type StoredRules, WalletStore } from './wallet-store.js';

const REMEMBERED_MAX = 10_000;
/** The rules can change while they are put in force; then the newer rules are put in force. */
const ATTEMPTS = 4;

/** Maps owners to wallets. An owner has one wallet, made at the first request for it. */
@Injectable()
export class WalletDirectory {
  readonly #firstPolicy: Policy;
  readonly #wallets = new Map<Address, CustodialWallet>();
  /** After each loss Redis may hold an older state, so everything is restored again. */
  #losses = 1;
  #restoredLosses = 0;
  /** Owners and their wallets according to the journal. What a provider says is not proof. */
  readonly #owners = new Map<Address, string | undefined>();
  readonly #ownerOf = new Map<string, Address>();

  constructor(
    @Inject(WALLET_PROVIDER) private readonly provider: WalletProvider,
    private readonly journal: Journal,
    private readonly restorer: WalletRestorer,
    private readonly store: WalletStore,
    private readonly locks: RedisLock,
    private readonly newWallets: NewWallets,
    @Inject(WALLET_SETTINGS) settings: WalletConfig,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {
    this.#firstPolicy = firstPolicy(settings);
  }

  /** The connection to Redis was lost and is back, so its data may be incomplete and is restored. */
  noteReconnect(): void {
    this.#losses += 1;
  }

  /** The owner's wallet, if there is one. */
  async find(owner: Address): Promise<CustodialWallet | undefined> {
    const known = this.#wallets.get(owner);
    if (known !== undefined) return known;
    const found = await this.provider.find(subjectOf(owner));
    return found && this.#remember(owner, found);
  }

  /**
   * The wallet of an owner who has just proven ownership. It is made if it does not exist; the number of new wallets
   * per address is limited.
   *
   * @param address - the network address of the owner, or of its agent.
   * @throws WalletError `rate_limited`, `unavailable`.
   */
  async walletFor(owner: Address, address: string | undefined): Promise<CustodialWallet> {
    const found = await this.find(owner);
    if (found !== undefined) return found;
    await this.newWallets.assertRoom(address);
    return this.walletOf(owner);
  }

  /** The owner's wallet, made if it does not exist. */
  async walletOf(owner: Address): Promise<CustodialWallet> {
    const found = await this.find(owner);
    if (found !== undefined) return found;
    const create = () => this.#create(owner, subjectOf(owner));
    return this.#remember(owner, await this.locks.hold(`create:${owner}`, create));
  }

  #remember(owner: Address, wallet: CustodialWallet): CustodialWallet {
    if (this.#wallets.size >= REMEMBERED_MAX) this.#wallets.clear();
    this.#wallets.set(owner, wallet);
    return wallet;
  }

  /**
   * The rules of a wallet. After a loss of Redis, the rules and the spending under them are first restored from the
   * journal.
   *
   * @throws WalletError `wallet_locked` when the restore is not possible, or when the provider has another wallet for
   *   the owner than before.
   */
  async policyOf(owner: Address, wallet: CustodialWallet): Promise<Policy> {
    return (await this.#storedRules(owner, wallet)).policy;
  }

  /**
   * The rules to sign under. The journal records them as in force, so a restore after a loss brings back the same
   * rules.
   *
   * @throws WalletError as `policyOf`; WalletStorageError when they cannot be put in force.
   */
  async policyInForce(owner: Address, wallet: CustodialWallet): Promise<Policy> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const rules = await this.#storedRules(owner, wallet);
      if (rules.isInForce || (await this.putInForce(owner, wallet.address, rules))) {
        return rules.policy;
      }
    }
    throw new WalletError('unavailable', 'The rules are being changed. Try again.');
  }

  /** @returns whether they are in force: other rules may have replaced them. */
  async putInForce(
    owner: Address,
    wallet: Address,
    { policy, record }: Pick<StoredRules, 'policy' | 'record'>,
  ): Promise<boolean> {
    const { revision } = policy;
    const common = { at: this.now(), owner, wallet, revision };
    const text = policyText(policy);
    await this.journal.append({ event: 'policy_in_force', ...common, policy: text });
    return this.store.putInForce(wallet, record);
  }

  async #storedRules(owner: Address, { address }: CustodialWallet): Promise<StoredRules> {
    await this.#restoreWhatWasLost();
    this.#assertOwn(owner, address);
    const rules = await this.store.storedRules(address);
    if (rules !== undefined) return rules;
    const state = await this.restorer.restoreAll();
    this.#update(state);
    this.#assertOwn(owner, address);
    await this.#finishCreation(owner, address, state);
    const restored = await this.store.storedRules(address);
    if (restored !== undefined) return restored;
    throw new WalletError(
      'wallet_locked',
      'This wallet is locked, because its spending is unknown. The operator has to restore the journal.',
    );
  }

  async #restoreWhatWasLost(): Promise<void> {
    while (this.#restoredLosses < this.#losses) {
      const losses = this.#losses;
      this.#update(await this.restorer.restoreAll());
      this.#restoredLosses = losses;
    }
  }

  async #create(owner: Address, subject: string): Promise<CustodialWallet> {
    const existing = await this.provider.find(subject);
    if (existing !== undefined) return existing;
    await this.#restoreWhatWasLost();
    // The owner had a wallet before. A second one would start with an empty budget.
    if (this.#owners.get(owner) !== undefined) throw changed();
    const at = this.now();
    await this.journal.append({ event: 'wallet_wanted', at, owner });
    const wallet = await this.provider.create(subject);
    await this.journal.append({ event: 'wallet_created', at, owner, wallet: wallet.address });
    this.#note(owner, wallet.address);
    await this.#setFirstPolicy(owner, wallet.address);
    return wallet;
  }

  #update({ owners }: JournalState): void {
    for (const [owner, wallet] of owners) this.#note(owner as Address, wallet);
  }

  #note(owner: Address, wallet: string | undefined): void {
    this.#owners.set(owner, wallet ?? this.#owners.get(owner));
    if (wallet !== undefined) this.#ownerOf.set(wallet, owner);
  }

  /** A wallet under another address would start with an empty budget, or belong to another owner. */
  #assertOwn(owner: Address, wallet: Address): void {
    const [remembered, whose] = [this.#owners.get(owner), this.#ownerOf.get(wallet)];
    if ((remembered ?? wallet) !== wallet || (whose ?? owner) !== owner) throw changed();
  }

  /** A wallet whose creation was interrupted has no rules, so it has signed nothing. */
  async #finishCreation(owner: Address, wallet: Address, state: JournalState): Promise<void> {
    const isStarted = state.owners.has(owner) && state.wallets.get(wallet)?.rules === undefined;
    if (isStarted) {
      await this.locks.hold(`create:${owner}`, () => this.#setFirstPolicy(owner, wallet));
    }
  }

  async #setFirstPolicy(owner: Address, wallet: Address): Promise<void> {
    const { revision } = this.#firstPolicy;
    const policy = policyText(this.#firstPolicy);
    const common = { at: this.now(), owner, wallet, revision, policy };
    await this.journal.append({ event: 'policy_in_force', ...common });
    await this.restorer.unlockNew(wallet, this.#firstPolicy);
  }
}

function changed(): WalletError {
  return new WalletError(
    'wallet_locked',
    'This wallet is locked: the custody provider no longer has its account. The operator has to check the provider.',
  );
}

/** The name of an owner at the provider. */
function subjectOf(owner: Address): string {
  return `owner:${owner}`;
}
