import { type LoadResult } from './load.js';
import type { Kind as PaymentKind } from './payment-factory.js';
import { ascending, percentile, type Spread, spreadOf } from './statistics.js';

/** What is sent: payments, or vouchers of channels. */
type Kind = PaymentKind | 'voucher';

/** Who is measured. */
export type Contestant = 'ours' | 'reference';

/** One run of one contestant, as it is written to files. */
interface Run {
  readonly perSecond: number;
  readonly completed: number;
  readonly failed: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** Processor time of the facilitator for each payment, ms; `undefined` where it cannot be read. */
  readonly processorMs: number | undefined;
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
  /** Median of the rounds. Unlike throughput it does not depend on what else the machine does. */
  readonly processorMs: number | undefined;
}

/** Ours against the reference, each round compared with its own other half. */
export interface Ratio {
  readonly kind: Kind;
  readonly concurrency: number;
  readonly throughput: Spread;
  /** Our p99 in parts of the reference's p50. */
  readonly p99OverItsP50: number;
  /** Its processor time for a payment, divided by that of this service. */
  readonly processorTime: number | undefined;
}

interface Noted {
  readonly result: LoadResult;
  readonly processorMs: number | undefined;
}

/** Collects the runs of a bench. */
export class Scoreboard {
  readonly #noted = new Map<string, Noted[]>();

  /** @param cores - how many the facilitator kept busy meanwhile. */
  note(contestant: Contestant, kind: Kind, result: LoadResult, cores: number | undefined): void {
    const key = JSON.stringify([contestant, kind, result.concurrency]);
    const processorMs = cores === undefined ? undefined : (cores / result.perSecond) * 1000;
    this.#noted.set(key, [...(this.#noted.get(key) ?? []), { result, processorMs }]);
  }

  cells(): readonly Cell[] {
    return [...this.#noted].map(([key, noted]) => {
      const results = noted.map(({ result }) => result);
      const [contestant, kind, concurrency] = JSON.parse(key) as [Contestant, Kind, number];
      const latencies = ascending(results.flatMap((result) => result.latencies));
      return {
        contestant,
        kind,
        concurrency,
        runs: noted.map(({ result, processorMs }) => {
          const { perSecond, completed, failed, failures, seconds } = result;
          return { perSecond, completed, failed, failures, seconds, processorMs };
        }),
        perSecond: spreadOf(results.map((result) => result.perSecond)),
        p50: percentile(latencies, 0.5),
        p95: percentile(latencies, 0.95),
        p99: percentile(latencies, 0.99),
        failed: results.reduce((sum, { failed }) => sum + failed, 0),
        processorMs: medianOfKnown(noted.map(({ processorMs }) => processorMs)),
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
        processorTime:
          ours.processorMs === undefined || reference.processorMs === undefined
            ? undefined
            : reference.processorMs / ours.processorMs,
      },
    ];
  });
}

function medianOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : spreadOf(known).median;
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
