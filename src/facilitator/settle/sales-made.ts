import type { MadeSale, SettlementStore } from '../../settlement/ledger/settlement-store.js';

/** What was sold is said again to a ledger that went back within this time. */
const KEPT_MS = 120_000;
const KEPT_MAX = 10_000;
/** Said again together, so that a ledger that has just come back is not flooded. */
const TOGETHER = 100;

/** The sales that this process has made lately, so that a ledger that went back learns of them again. */
export class SalesMade {
  readonly #sales = new Map<string, { readonly sale: MadeSale; readonly at: number }>();

  constructor(
    private readonly store: Pick<SettlementStore, 'restate'>,
    private readonly onTrouble: (error: unknown) => void,
    private readonly now: () => number = () => performance.now(),
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

  /** The ledger of a chain went back: it is told what was sold on it. */
  async restate(chainId: number): Promise<void> {
    const lately = [...this.#sales.values()]
      .filter(({ sale, at }) => sale.ref.chainId === chainId && this.now() - at <= KEPT_MS)
      .map(({ sale }) => sale);
    for (let from = 0; from < lately.length; from += TOGETHER) {
      await Promise.all(
        lately.slice(from, from + TOGETHER).map(async (sale) => {
          try {
            await this.store.restate(sale);
          } catch (error) {
            this.onTrouble(error);
          }
        }),
      );
    }
  }
}
