import type { Address } from 'viem';
import { FIXED_CONTRACTS } from '../../protocol/evm/contracts.js';

/**
 * How calls of a contract are sent to a node. `new` and `marked` have few connections and a separate gas budget, so
 * that unknown code cannot slow down other calls.
 */
export type Traffic =
  | { readonly kind: 'open' }
  /** @property subject - the contract whose calls wait behind each other. */
  | { readonly kind: 'new' | 'marked'; readonly subject: Address };

const OPEN_TRAFFIC: Traffic = { kind: 'open' };

/** How long good conduct is remembered, and for how many contracts. */
const GOOD_KEPT_MS = 15 * 60_000;
const GOOD_MAX = 4096;
/** How long a contract that burnt gas is isolated. */
const MARKED_KEPT_MS = 10 * 60_000;
const MARKED_MAX = 16_384;

/**
 * The gas use that contracts have shown: tokens and wallets of payers. It decides how fast they are served, never the
 * answer.
 */
export class CodeConduct {
  readonly #good = new ExpiringSet(GOOD_KEPT_MS, GOOD_MAX);
  readonly #marked = new ExpiringSet(MARKED_KEPT_MS, MARKED_MAX);

  readonly #trusted = new Set<Address>(Object.values(FIXED_CONTRACTS));

  /** Contracts that the operator or the x402 scheme trusts. Lower case. */
  trust(contracts: Iterable<Address>): void {
    for (const contract of contracts) this.#trusted.add(contract);
  }

  isTrusted(contract: Address): boolean {
    return this.#trusted.has(contract);
  }

  /**
   * @param contract - the called contract.
   * @param payer - an account whose code it may call.
   * @param isPayerNew - whether this call deploys that code, so its behaviour is unknown.
   */
  trafficOf(contract: Address, payer?: Address, isPayerNew = false): Traffic {
    if (this.#marked.has(contract)) return { kind: 'marked', subject: contract };
    if (payer !== undefined && this.#marked.has(payer)) return { kind: 'marked', subject: payer };
    // Anybody can make tokens with any number of payers, so those count as one.
    if (isPayerNew) return { kind: 'new', subject: this.#blamed(contract, payer) ?? contract };
    return this.#trusted.has(contract) || this.#good.has(contract)
      ? OPEN_TRAFFIC
      : { kind: 'new', subject: contract };
  }

  /** Notes that it worked with little gas. */
  noteGood(contract: Address): void {
    if (!this.#trusted.has(contract) && !this.#marked.has(contract)) this.#good.add(contract);
  }

  /** Notes that it used up its gas limit. */
  noteBurn(contract: Address, payer?: Address): void {
    const culprit = this.#blamed(contract, payer);
    if (culprit === undefined) return;
    this.#good.delete(culprit);
    this.#marked.add(culprit);
  }

  /** Trusted code is not at fault: the payer's wallet is, unless it is trusted as well. */
  #blamed(contract: Address, payer: Address | undefined): Address | undefined {
    if (!this.#trusted.has(contract)) return contract;
    return payer !== undefined && this.#trusted.has(payer) ? undefined : payer;
  }
}

/** Addresses that expire after a while, or when there are too many, the oldest first. */
class ExpiringSet {
  readonly #until = new Map<Address, number>();

  constructor(
    private readonly keptMs: number,
    private readonly max: number,
  ) {}

  has(address: Address): boolean {
    const until = this.#until.get(address);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.#until.delete(address);
    return false;
  }

  add(address: Address): void {
    this.#until.delete(address);
    const [oldest] = this.#until.keys();
    if (oldest !== undefined && this.#until.size >= this.max) this.#until.delete(oldest);
    this.#until.set(address, performance.now() + this.keptMs);
  }

  delete(address: Address): void {
    this.#until.delete(address);
  }
}
