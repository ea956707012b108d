import { delay } from '../../platform/concurrency/timing.js';
import type { MadeSale, SettlementStore } from '../../settlement/ledger/settlement-store.js';

/** What was sold is said again to a ledger that went back within this time. */
const KEPT_MS = 120_000;
const KEPT_MAX = 10_000;
/** Said again together, so that a ledger that has just come back is not flooded. */
const TOGETHER = 100;
/**
 * Claims that the ledger lost are stored again by the lanes that follow them, once their leases are theirs.
 * Until the grace of a sale is over nobody else can be sold one of those.
 */
const AGAIN_MS = 2000;
const TRIES = 15;

/** The sales that this process has made lately, so that a ledger that went back learns of them again. */
export class SalesMade {
  /** How often the ledger of a chain went back. */
  readonly #rounds = new Map<number, number>();
  readonly #sales = new Map<string, { readonly sale: MadeSale; readonly at: number }>();

  constructor(
    private readonly store: Pick<SettlementStore, 'restate'>,
    private readonly onTrouble: (error: unknown) => void,
    private readonly now: () => number = () => performance.now(),
    private readonly sleep: (ms: number) => Promise<void> = delay,
  ) {}

  note(sale: MadeSale): void {
    const key = sale.ref.id;
    this.#sales.delete(key);
    this.#sales.set(key, { sale, at: this.now() });
    for (const [oldest, { at }] of this.#sales) {
      if (this.#sales.size <= KEPT_MAX && this.now() - at <= KEPT_MS) break;
      this.#sales.delete(oldest);
    }
  }

  takenBack(id: string): void {
    this.#sales.delete(id);
  }

  /** The ledger of a chain went back: it is told what was sold on it, also of what it learns of later. */
  async restate(chainId: number): Promise<void> {
    const round = (this.#rounds.get(chainId) ?? 0) + 1;
    this.#rounds.set(chainId, round);
    let missing = [...this.#sales.values()]
      .filter(({ sale, at }) => sale.ref.chainId === chainId && this.now() - at <= KEPT_MS)
      .map(({ sale }) => sale);
    for (let tries = 0; tries < TRIES && missing.length > 0; tries += 1) {
      if (tries > 0) await this.sleep(AGAIN_MS);
      // It went back once more: what follows that says everything again.
      if (this.#rounds.get(chainId) !== round) return;
      missing = await this.#restateAll(missing);
    }
  }

  /** @returns those that the ledger does not have. */
  async #restateAll(sales: readonly MadeSale[]): Promise<MadeSale[]> {
    const missing: MadeSale[] = [];
    for (let from = 0; from < sales.length; from += TOGETHER) {
      await Promise.all(
        sales.slice(from, from + TOGETHER).map(async (sale) => {
          try {
            if (!(await this.store.restate(sale)) && this.#sales.has(sale.ref.id)) {
              missing.push(sale);
            }
          } catch (error) {
            this.onTrouble(error);
            missing.push(sale);
          }
        }),
      );
    }
    return missing;
  }
}
