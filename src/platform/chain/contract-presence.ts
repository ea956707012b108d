import type { Address } from 'viem';
import { CodeConduct } from './code-conduct.js';
import { SimulationSupport } from './simulation-support.js';

/** As the reference facilitator: a yes is kept for 15 minutes, at most 4096 of them, a no never. */
const KEPT_MS = 15 * 60_000;
const KEPT_MAX = 4096;

/**
 * Remembers which addresses hold a contract, and how their code behaves, as one endpoint shows it: its word must not slow
 * down calls through another one.
 */
export class ContractPresence {
  readonly conduct = new CodeConduct();
  readonly simulation = new SimulationSupport();
  readonly #keptUntil = new Map<Address, number>();

  async isContract(address: Address, look: () => Promise<boolean>): Promise<boolean> {
    const now = performance.now();
    if ((this.#keptUntil.get(address) ?? 0) > now) return true;
    const isPresent = await look();
    if (isPresent) this.#keep(address, now);
    else this.#keptUntil.delete(address);
    return isPresent;
  }

  #keep(address: Address, now: number): void {
    if (this.#keptUntil.size >= KEPT_MAX) {
      for (const [kept, until] of this.#keptUntil) {
        if (until <= now) this.#keptUntil.delete(kept);
      }
    }
    if (this.#keptUntil.size < KEPT_MAX) this.#keptUntil.set(address, now + KEPT_MS);
  }
}
