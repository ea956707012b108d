import { type LoadResult } from './load.js';
import type { Kind } from './mill.js';
import { ascending, percentile, type Spread, spreadOf } from './statistics.js';

/** Who is measured. */
export type Contestant = 'ours' | 'reference';

/** One run of one contestant, as it is written to files. */
export interface Run {
  readonly perSecond: number;
  readonly completed: number;
  readonly failed: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** All rounds of one contestant with one kind of payment at one concurrency. */
export interface Cell {
  readonly contestant: Contestant;
  readonly kind: Kind;
  readonly concurrency: number;
  readonly runs: readonly Run[];
  readonly perSecond: Spread;
  /** Milliseconds, over the requests of all rounds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly failed: number;
}

/** Ours against the reference, each round compared with its own other half. */
export interface Ratio {
  readonly kind: Kind;
  readonly concurrency: number;
  readonly throughput: Spread;
  /** Our p99 in parts of the reference's p50. */
  readonly p99OverItsP50: number;
}

/** Collects the runs of a bench. */
export class Scoreboard {
  readonly #results = new Map<string, LoadResult[]>();

  note(contestant: Contestant, kind: Kind, result: LoadResult): void {
    const key = JSON.stringify([contestant, kind, result.concurrency]);
    this.#results.set(key, [...(this.#results.get(key) ?? []), result]);
  }

  cells(): readonly Cell[] {
    return [...this.#results].map(([key, results]) => {
      const [contestant, kind, concurrency] = JSON.parse(key) as [Contestant, Kind, number];
      const latencies = ascending(results.flatMap((result) => result.latencies));
      return {
        contestant,
        kind,
        concurrency,
        runs: results.map(({ perSecond, completed, failed, failures, seconds }) => ({
          ...{ perSecond, completed, failed, failures, seconds },
        })),
        perSecond: spreadOf(results.map((result) => result.perSecond)),
        p50: percentile(latencies, 0.5),
        p95: percentile(latencies, 0.95),
        p99: percentile(latencies, 0.99),
        failed: results.reduce((sum, { failed }) => sum + failed, 0),
      };
    });
  }
}

export function ratiosOf(cells: readonly Cell[]): readonly Ratio[] {
  return cells.flatMap((ours) => {
    if (ours.contestant !== 'ours') return [];
    const { kind, concurrency } = ours;
    const reference = cells.find(
      (one) =>
        one.contestant === 'reference' && one.kind === kind && one.concurrency === concurrency,
    );
    if (reference === undefined) return [];
    const throughput = ours.runs.flatMap(({ perSecond }, round) => {
      const other = reference.runs[round]?.perSecond ?? 0;
      return other > 0 ? [perSecond / other] : [];
    });
    if (throughput.length === 0) return [];
    return [
      {
        kind,
        concurrency,
        throughput: spreadOf(throughput),
        p99OverItsP50: ours.p99 / reference.p50,
      },
    ];
  });
}

/** Requests that failed anywhere, with why. */
export function problemsOf(cells: readonly Cell[]): readonly string[] {
  return cells
    .filter(({ failed }) => failed > 0)
    .map(({ contestant, kind, concurrency, runs, failed }) => {
      const reasons = JSON.stringify(runs.map(({ failures }) => failures));
      return `${contestant} ${kind} at ${concurrency}: ${failed} failed ${reasons}`;
    });
}
