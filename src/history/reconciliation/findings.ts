import type { Finding } from './difference.js';

/** Enough to see what is wrong; a fault that makes more of them has one cause. */
const KEPT_MOST = 10_000;

/** What a run found: all of it counted, the first of it kept. */
export class Findings {
  readonly kept: Finding[] = [];
  readonly counts = new Map<string, number>();

  add(findings: readonly Finding[]): void {
    for (const one of findings) {
      this.counts.set(one.name, (this.counts.get(one.name) ?? 0) + 1);
      if (this.kept.length < KEPT_MOST) this.kept.push(one);
    }
  }
}
