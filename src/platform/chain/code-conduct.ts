import type { Address } from 'viem';
import { FIXED_CONTRACTS } from '../../protocol/evm/contracts.js';

/**
 * How calls of a contract travel to a node. `new` and `marked` have few connections and a budget of
 * gas of their own, so that unknown code cannot slow down other calls.
 */
export type Traffic =
  | { readonly kind: 'open' }
  /** @property subject - whose calls wait behind each other. */
  | { readonly kind: 'new' | 'marked'; readonly subject: Address };

const OPEN_TRAFFIC: Traffic = { kind: 'open' };

/** How long good conduct is remembered, and of how many contracts. */
const GOOD_KEPT_MS = 15 * 60_000;
const GOOD_MAX = 4096;
/** How long a contract that burnt gas is isolated. */
const MARKED_KEPT_MS = 10 * 60_000;
const MARKED_MAX = 16_384;

/**
 * What the contracts of a chain did with the gas they were given: tokens and the wallets of payers.
 * Decides how fast they are served, never what is answered.
 */
export class CodeConduct {
  readonly #good = new ExpiringSet(GOOD_KEPT_MS, GOOD_MAX);
  readonly #marked = new ExpiringSet(MARKED_KEPT_MS, MARKED_MAX);

  readonly #trusted = new Set<Address>(Object.values(FIXED_CONTRACTS));

  /** Contracts whose code the operator or the x402 scheme vouches for. Lower case. */
  trust(contracts: Iterable<Address>): void {
    for (const contract of contracts) this.#trusted.add(contract);
  }

  isTrusted(contract: Address): boolean {
    return this.#trusted.has(contract);
  }

  /**
   * @param contract - the code that is called.
   * @param payer - whose code may be called by it.
   * @param isPayerNew - whether that code is deployed in this very call: its behaviour is unknown.
   */
  trafficOf(contract: Address, payer?: Address, isPayerNew = false): Traffic {
    if (this.#marked.has(contract)) return { kind: 'marked', subject: contract };
    if (payer !== undefined && this.#marked.has(payer)) return { kind: 'marked', subject: payer };
    // Anybody can make tokens that know any number of payers: those count as one.
    if (isPayerNew) return { kind: 'new', subject: this.#blamed(contract, payer) ?? contract };
    return this.#trusted.has(contract) || this.#good.has(contract)
      ? OPEN_TRAFFIC
      : { kind: 'new', subject: contract };
  }

  /** It did its work for little gas. */
  noteGood(contract: Address): void {
    if (!this.#trusted.has(contract) && !this.#marked.has(contract)) this.#good.add(contract);
  }

  /** It used up what it was given. */
  noteBurn(contract: Address, payer?: Address): void {
    const culprit = this.#blamed(contract, payer);
    if (culprit === undefined) return;
    this.#good.delete(culprit);
    this.#marked.add(culprit);
  }

  /** Trusted code is not blamed: a payer's wallet has done it, unless that is trusted as well. */
  #blamed(contract: Address, payer: Address | undefined): Address | undefined {
    if (!this.#trusted.has(contract)) return contract;
    return payer !== undefined && this.#trusted.has(payer) ? undefined : payer;
  }
}

/** Addresses that are forgotten after a while, or when there are too many: the oldest first. */
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
