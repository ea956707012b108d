import type {
  Simulated,
  SimulatedSale,
  SimulatedSettlement,
} from '../../../../src/facilitator/simulation/simulated-settlement.js';
import {
  KEPT_MOST,
  type SimulationStore,
} from '../../../../src/facilitator/simulation/simulation-store.js';

/** The same within one process that does not last: nothing is forgotten. */
export class MemorySimulationStore implements SimulationStore {
  readonly #kept = new Map<string, Simulated>();
  readonly #counts = new Map<string, number>();

  begin(
    caller: string,
    settlement: SimulatedSettlement,
  ): Promise<(Simulated & { readonly isNew: boolean }) | 'full'> {
    const known = this.#kept.get(settlement.id);
    if (known !== undefined) return Promise.resolve({ ...known, isNew: false });
    const count = this.#counts.get(caller) ?? 0;
    if (count >= KEPT_MOST) return Promise.resolve('full');
    this.#counts.set(caller, count + 1);
    this.#kept.set(settlement.id, { settlement, sale: undefined });
    return Promise.resolve({ settlement, sale: undefined, isNew: true });
  }

  find(id: string): Promise<Simulated | undefined> {
    return Promise.resolve(this.#kept.get(id));
  }

  sell(id: string, sale: SimulatedSale): Promise<boolean> {
    const known = this.#kept.get(id);
    if (known === undefined) return Promise.resolve(false);
    if (known.sale === undefined) this.#kept.set(id, { ...known, sale });
    return Promise.resolve((known.sale ?? sale).requester === sale.requester);
  }

  rollBack(id: string, requester: string): Promise<void> {
    const known = this.#kept.get(id);
    if (known?.sale?.requester === requester) this.#kept.set(id, { ...known, sale: undefined });
    return Promise.resolve();
  }
}
