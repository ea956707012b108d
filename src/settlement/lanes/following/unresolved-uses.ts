import type { Reason } from '../../../protocol/reasons.js';
import { actionOf } from '../../../protocol/schemes/registry.js';
import type { TakenSettlement } from '../../ledger/lane-store.js';

interface UnresolvedUse {
  readonly taken: TakenSettlement;
  /** The block at which it was found used, or an older one. */
  readonly sinceBlock: bigint;
}

/**
 * Settlements that were unused when accepted, and used before they were sent. Either another program copied a lane's attempt
 * or the ledger lost one, and then this facilitator has paid the payee. They get no answer before a final block
 * decides.
 */
export class UnresolvedUses {
  readonly #uses = new Map<string, UnresolvedUse>();

  get size(): number {
    return this.#uses.size;
  }

  get all(): readonly UnresolvedUse[] {
    return [...this.#uses.values()];
  }

  get(id: string): UnresolvedUse | undefined {
    return this.#uses.get(id);
  }

  /** Forgets all: a lane that is reopened finds them among the settlements it takes. */
  clear(): void {
    this.#uses.clear();
  }

  resolved(id: string): void {
    this.#uses.delete(id);
  }

  /** @returns whether the refusal of this settlement has to wait for finality. */
  holds(taken: TakenSettlement, reason: Reason, blockNumber: bigint): boolean {
    if (reason !== actionOf(taken.payment.authorization).reasons.used) return false;
    this.#uses.set(taken.id, { taken, sinceBlock: blockNumber });
    return true;
  }
}
