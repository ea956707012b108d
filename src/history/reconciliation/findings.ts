import type { Finding } from './difference.js';

/** Enough to see what is wrong; a fault that makes more of them has one cause. */
const KEPT_MOST = 10_000;

/** What a run found: all of it counted, the first of it kept. */
export class Findings {
  readonly kept: Finding[] = [];
  readonly counts = new Map<string, number>();
  /** Who shares a transaction may lead to it from several places: what is wrong with it is said once. */
  readonly #known = new Set<string>();

  add(findings: readonly Finding[]): void {
    for (const one of findings) {
      const name = nameOf(one);
      if (name !== undefined && this.#known.has(name)) continue;
      if (name !== undefined && this.#known.size < KEPT_MOST) this.#known.add(name);
      this.counts.set(one.name, (this.counts.get(one.name) ?? 0) + 1);
      if (this.kept.length < KEPT_MOST) this.kept.push(one);
    }
  }
}

/** @returns `undefined` of what is not about a transaction. */
function nameOf({ name, settlementId, transaction, logIndex }: Finding): string | undefined {
  if (transaction === undefined) return undefined;
  return [name, settlementId ?? '', transaction, logIndex ?? ''].join(' ');
}
