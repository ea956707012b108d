import type { Learnt } from '../catalogue.js';

/** Told of what the catalogue learns. */
export interface CatalogueObserver {
  learnt(chainId: number, learnt: Learnt): void;
  /** Nothing can be learnt now. */
  troubled(error: unknown): void;
  recovered(): void;
}
