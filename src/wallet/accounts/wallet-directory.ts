import type { Address } from 'viem';
import type { Journal } from '../audit/journal.js';
import type { JournalState } from '../audit/journal-state.js';
import type { WalletRestorer } from '../budget/rebuild.js';
import type { CustodialWallet, WalletProvider } from '../provider/wallet-provider.js';
import type { RedisLock } from '../redis-lock.js';
import { type Policy, policyText } from '../rules/policy.js';
import { WalletError } from '../wallet-error.js';
import type { NewWallets } from './new-wallets.js';
import type { StandingRules, WalletStore } from './wallet-store.js';

const REMEMBERED_MAX = 10_000;
/** Rules can change while they are put in force; then the newer ones are. */
const ATTEMPTS = 4;

interface WalletDirectoryParts {
  readonly provider: WalletProvider;
  readonly journal: Pick<Journal, 'append'>;
  readonly restorer: WalletRestorer;
  readonly book: WalletStore;
  readonly locks: RedisLock;
  readonly newWallets: Pick<NewWallets, 'assertRoom'>;
  readonly firstPolicy: Policy;
  /** Unix seconds. */
  readonly now: () => number;
}

/** Which wallet is whose. An owner has one, made when first asked for. */
export class WalletDirectory {
  readonly #wallets = new Map<Address, CustodialWallet>();
  /** Redis may have gone back to an older state at each; all is restored after each. */
  #losses = 1;
  #restoredLosses = 0;
  /** Which wallet the journal says is whose, and whose is which. A provider has only said so. */
  readonly #owners = new Map<Address, string | undefined>();
  readonly #ownerOf = new Map<string, Address>();

  constructor(private readonly parts: WalletDirectoryParts) {}

  /** The connection to Redis was lost and is back: what it knows has to be completed. */
  noteReconnect(): void {
    this.#losses += 1;
  }

  /** The owner's wallet, where there is one. */
  async find(owner: Address): Promise<CustodialWallet | undefined> {
    const known = this.#wallets.get(owner);
    if (known !== undefined) return known;
    const found = await this.parts.provider.find(subjectOf(owner));
    return found && this.#remember(owner, found);
  }

  /**
   * The wallet of an owner who has only just shown to be one: made if there is none, and not too many are.
   *
   * @param address - where the owner, or an agent of it, asks from.
   * @throws WalletError `rate_limited`, `unavailable`.
   */
  async walletFor(owner: Address, address: string | undefined): Promise<CustodialWallet> {
    const found = await this.find(owner);
    if (found !== undefined) return found;
    await this.parts.newWallets.assertRoom(address);
    return this.walletOf(owner);
  }

  /** The owner's wallet, made if there is none. */
  async walletOf(owner: Address): Promise<CustodialWallet> {
    const found = await this.find(owner);
    if (found !== undefined) return found;
    const create = () => this.#create(owner, subjectOf(owner));
    return this.#remember(owner, await this.parts.locks.hold(`create:${owner}`, create));
  }

  #remember(owner: Address, wallet: CustodialWallet): CustodialWallet {
    if (this.#wallets.size >= REMEMBERED_MAX) this.#wallets.clear();
    this.#wallets.set(owner, wallet);
    return wallet;
  }

  /**
   * The rules of a wallet. After a loss of Redis they, and what was spent under them, are first
   * restored from the journal.
   *
   * @throws WalletError `wallet_locked` when that is not possible, or when the provider has another
   *   wallet for the owner than it had.
   */
  async policyOf(owner: Address, wallet: CustodialWallet): Promise<Policy> {
    return (await this.#standingRules(owner, wallet)).policy;
  }

  /**
   * The rules to sign under: in force, and in the journal as such. What is restored after a loss can then
   * not be anything else.
   *
   * @throws WalletError as `policyOf`; WalletStorageError when they cannot be put in force.
   */
  async policyInForce(owner: Address, wallet: CustodialWallet): Promise<Policy> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const rules = await this.#standingRules(owner, wallet);
      if (rules.isInForce || (await this.putInForce(owner, wallet.address, rules))) {
        return rules.policy;
      }
    }
    throw new WalletError('unavailable', 'The rules are being changed. Ask again.');
  }

  /** @returns whether they are: others may have taken their place. */
  async putInForce(
    owner: Address,
    wallet: Address,
    { policy, record }: Pick<StandingRules, 'policy' | 'record'>,
  ): Promise<boolean> {
    const { revision } = policy;
    const common = { at: this.parts.now(), owner, wallet, revision };
    const text = policyText(policy);
    await this.parts.journal.append({ event: 'policy_in_force', ...common, policy: text });
    return this.parts.book.putInForce(wallet, record);
  }

  async #standingRules(owner: Address, { address }: CustodialWallet): Promise<StandingRules> {
    await this.#restoreWhatWasLost();
    this.#assertOwn(owner, address);
    const rules = await this.parts.book.standingRules(address);
    if (rules !== undefined) return rules;
    const state = await this.parts.restorer.restoreAll();
    this.#learn(state);
    this.#assertOwn(owner, address);
    await this.#finishCreation(owner, address, state);
    const restored = await this.parts.book.standingRules(address);
    if (restored !== undefined) return restored;
    throw new WalletError(
      'wallet_locked',
      'This wallet is locked: what it has spent is not known here. The operator has to restore the journal.',
    );
  }

  async #restoreWhatWasLost(): Promise<void> {
    while (this.#restoredLosses < this.#losses) {
      const losses = this.#losses;
      this.#learn(await this.parts.restorer.restoreAll());
      this.#restoredLosses = losses;
    }
  }

  async #create(owner: Address, subject: string): Promise<CustodialWallet> {
    const existing = await this.parts.provider.find(subject);
    if (existing !== undefined) return existing;
    await this.#restoreWhatWasLost();
    // There was one: another would begin with an empty budget.
    if (this.#owners.get(owner) !== undefined) throw changed();
    const at = this.parts.now();
    await this.parts.journal.append({ event: 'wallet_wanted', at, owner });
    const wallet = await this.parts.provider.create(subject);
    await this.parts.journal.append({ event: 'wallet_created', at, owner, wallet: wallet.address });
    this.#note(owner, wallet.address);
    await this.#setFirstPolicy(owner, wallet.address);
    return wallet;
  }

  #learn({ owners }: JournalState): void {
    for (const [owner, wallet] of owners) this.#note(owner as Address, wallet);
  }

  #note(owner: Address, wallet: string | undefined): void {
    this.#owners.set(owner, wallet ?? this.#owners.get(owner));
    if (wallet !== undefined) this.#ownerOf.set(wallet, owner);
  }

  /** A wallet under another address would begin with an empty budget, or be another owner's. */
  #assertOwn(owner: Address, wallet: Address): void {
    const [remembered, whose] = [this.#owners.get(owner), this.#ownerOf.get(wallet)];
    if ((remembered ?? wallet) !== wallet || (whose ?? owner) !== owner) throw changed();
  }

  /** A wallet whose making was interrupted has signed nothing: without rules it cannot. */
  async #finishCreation(owner: Address, wallet: Address, state: JournalState): Promise<void> {
    const isStarted = state.owners.has(owner) && state.wallets.get(wallet)?.rules === undefined;
    if (isStarted) {
      await this.parts.locks.hold(`create:${owner}`, () => this.#setFirstPolicy(owner, wallet));
    }
  }

  async #setFirstPolicy(owner: Address, wallet: Address): Promise<void> {
    const { firstPolicy, journal, restorer } = this.parts;
    const { revision } = firstPolicy;
    const policy = policyText(firstPolicy);
    const common = { at: this.parts.now(), owner, wallet, revision, policy };
    await journal.append({ event: 'policy_in_force', ...common });
    await restorer.unlockNew(wallet, firstPolicy);
  }
}

function changed(): WalletError {
  return new WalletError(
    'wallet_locked',
    'This wallet is locked: the provider does not have the one it had. The operator has to look.',
  );
}

/** What a provider knows an owner by. */
function subjectOf(owner: Address): string {
  return `owner:${owner}`;
}
