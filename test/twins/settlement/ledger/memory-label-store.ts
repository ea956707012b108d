import { LABELLED_MAX, type LabelStore } from '../../../../src/settlement/ledger/label-store.js';
import type { ClaimRef } from '../../../../src/settlement/ledger/settlement-store.js';

/** Labels in memory; they are kept for as long as the process lives. */
export class MemoryLabelStore implements LabelStore {
  readonly #claims = new Map<string, readonly ClaimRef[]>();

  note(tag: string, ref: ClaimRef): Promise<void> {
    const others = this.#of(tag).filter(
      ({ chainId, id }) => chainId !== ref.chainId || id !== ref.id,
    );
    this.#claims.set(tag, [ref, ...others].slice(0, LABELLED_MAX));
    return Promise.resolve();
  }

  of(tag: string): Promise<readonly ClaimRef[]> {
    return Promise.resolve(this.#of(tag));
  }

  #of(tag: string): readonly ClaimRef[] {
    return this.#claims.get(tag) ?? [];
  }
}
