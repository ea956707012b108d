import { type HttpAnswer, JsonConnection } from './connection.js';
import { untilTime } from './load.js';
import { type Busyness, watchProcessors } from './processor-time.js';
import { ascending, percentile } from './statistics.js';

/** One request whose answer is known beforehand. */
export interface TimedGet {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The problem of an answer; `undefined` for a good one. */
  readonly problemOf: (answer: HttpAnswer) => string | undefined;
}

/** How long the answers of one kind took. */
export interface ReadCell {
  readonly what: string;
  /** Requests under way at a time. */
  readonly concurrency: number;
  readonly requests: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
  /** Processor time of each answer, milliseconds, by program. */
  readonly processorMs: Busyness;
}

export interface TimedGets {
  readonly cell: ReadCell;
  readonly problems: readonly string[];
}

/** Who answers, and what works for it. */
export interface Answering {
  readonly url: string;
  readonly programs: () => Readonly<Record<string, readonly number[]>>;
}

/**
 * A closed loop: so many connections, each of which asks when it was answered.
 *
 * @param pacePerSecond - requests are due at this pace instead, and their time counts from when they were due.
 */
export async function timeGets(
  what: string,
  { url, programs }: Answering,
  concurrency: number,
  gets: readonly TimedGet[],
  pacePerSecond?: number,
): Promise<TimedGets> {
  const latencies: number[] = [];
  const problems = new Map<string, number>();
  const left = gets.entries();
  const ends = watchProcessors(programs());
  const begun = performance.now();
  const worker = async (): Promise<void> => {
    const connection = new JsonConnection(new URL(url), '');
    for (const [index, { path, headers, problemOf }] of left) {
      const dueAt = pacePerSecond && begun + (index * 1000) / pacePerSecond;
      if (dueAt !== undefined) await untilTime(dueAt);
      const sentAt = dueAt ?? performance.now();
      const answer = await connection.get(path, headers).catch((error: unknown) => String(error));
      latencies.push(performance.now() - sentAt);
      const problem = typeof answer === 'string' ? answer : problemOf(answer);
      if (problem !== undefined) problems.set(problem, (problems.get(problem) ?? 0) + 1);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const seconds = (performance.now() - begun) / 1000;
  const cores = Object.entries(ends());
  const each = (seconds * 1000) / Math.max(1, latencies.length);
  const processorMs = Object.fromEntries(cores.map(([name, busy]) => [name, busy * each]));
  return {
    cell: cellOf({ what, concurrency, seconds, processorMs }, latencies),
    problems: [...problems].map(([why, times]) => `${what} at ${concurrency}: ${times} ${why}`),
  };
}

export function cellOf(
  run: Pick<ReadCell, 'what' | 'concurrency' | 'processorMs'> & { readonly seconds: number },
  latencies: readonly number[],
): ReadCell {
  const sorted = ascending(latencies);
  return {
    what: run.what,
    concurrency: run.concurrency,
    processorMs: run.processorMs,
    requests: sorted.length,
    perSecond: run.seconds === 0 ? 0 : sorted.length / run.seconds,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    most: sorted.at(-1) ?? 0,
  };
}
