import type { Address } from 'viem';
import type { Journal } from '../audit/journal.js';
import type { JournalMemory, WalletRestorer } from '../budget/rebuild.js';
import type { CustodialWallet, WalletProvider } from '../provider/wallet-provider.js';
import type { RedisLock } from '../redis-lock.js';
import { type Policy, policyText } from '../rules/policy.js';
import { WalletError } from '../wallet-error.js';
import type { WalletBook } from './wallet-book.js';

const REMEMBERED_MAX = 10_000;

/** Which wallet is whose. An owner has one, made when first asked for. */
export class WalletDirectory {
  readonly #wallets = new Map<Address, CustodialWallet>();
  /** Redis may have gone back to an older state at each; all is restored after each. */
  #losses = 1;
  #restoredLosses = 0;
  /** Which wallet the journal says is whose. */
  #owners: JournalMemory['owners'] = new Map();

  constructor(
    private readonly provider: WalletProvider,
    private readonly journal: Journal,
    private readonly restorer: WalletRestorer,
    private readonly book: WalletBook,
    private readonly locks: RedisLock,
    private readonly firstPolicy: Policy,
    private readonly now: () => number,
  ) {}

  /** The connection to Redis was lost and is back: what it knows has to be completed. */
  noteReconnect(): void {
    this.#losses += 1;
  }

  /** The owner's wallet, where there is one. */
  async find(owner: Address): Promise<CustodialWallet | undefined> {
    return this.#wallets.get(owner) ?? (await this.provider.find(subjectOf(owner)));
  }

  /** The owner's wallet, made if there is none. */
  async walletOf(owner: Address): Promise<CustodialWallet> {
    const known = this.#wallets.get(owner);
    if (known !== undefined) return known;
    const subject = subjectOf(owner);
    const wallet =
      (await this.provider.find(subject)) ??
      (await this.locks.hold(`create:${owner}`, () => this.#create(owner, subject)));
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
  async policyOf(owner: Address, { address }: CustodialWallet): Promise<Policy> {
    await this.#restoreWhatWasLost();
    assertSame(this.#owners.get(owner), address);
    const policy = await this.book.policy(address);
    if (policy !== undefined) return policy;
    const memory = await this.restorer.restoreAll();
    assertSame(memory.owners.get(owner), address);
    await this.#finishCreation(owner, address, memory);
    const restored = await this.book.policy(address);
    if (restored !== undefined) return restored;
    throw new WalletError(
      'wallet_locked',
      'This wallet is locked: what it has spent is not known here. The operator has to restore the journal.',
    );
  }

  async #restoreWhatWasLost(): Promise<void> {
    while (this.#restoredLosses < this.#losses) {
      const losses = this.#losses;
      this.#owners = (await this.restorer.restoreAll()).owners;
      this.#restoredLosses = losses;
    }
  }

  async #create(owner: Address, subject: string): Promise<CustodialWallet> {
    const existing = await this.provider.find(subject);
    if (existing !== undefined) return existing;
    await this.#restoreWhatWasLost();
    // There was one: another would begin with an empty budget.
    if (this.#owners.get(owner) !== undefined) throw changed();
    const at = this.now();
    await this.journal.append({ event: 'wallet_wanted', at, owner });
    const wallet = await this.provider.create(subject);
    await this.journal.append({ event: 'wallet_created', at, owner, wallet: wallet.address });
    await this.#setFirstPolicy(owner, wallet.address);
    return wallet;
  }

  /** A wallet whose making was interrupted has signed nothing: without rules it cannot. */
  async #finishCreation(owner: Address, wallet: Address, memory: JournalMemory): Promise<void> {
    const isStarted = memory.owners.has(owner) && memory.wallets.get(wallet)?.policy === undefined;
    if (isStarted) {
      await this.locks.hold(`create:${owner}`, () => this.#setFirstPolicy(owner, wallet));
    }
  }

  async #setFirstPolicy(owner: Address, wallet: Address): Promise<void> {
    const { revision } = this.firstPolicy;
    const policy = policyText(this.firstPolicy);
    const by = 'operator';
    const at = this.now();
    await this.journal.append({ event: 'policy_set', at, owner, wallet, revision, policy, by });
    await this.restorer.unlockNew(wallet, this.firstPolicy);
  }
}

/** A wallet under another address would begin with an empty budget, or be another owner's. */
function assertSame(remembered: string | undefined, address: Address): void {
  if (remembered !== undefined && remembered !== address) throw changed();
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
