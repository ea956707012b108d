import { readdirSync, readFileSync } from 'node:fs';
import type { Started } from '../../sandbox/processes.js';

/** Linux counts processor time in hundredths of a second for programs, whatever its own clock does. */
const TICKS_PER_SECOND = 100;

/** Seconds of processor time a program has used so far; `undefined` where there is no `/proc`. */
function processorSecondsOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold spaces; utime and stime are the 12th and 13th field after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}

/** Resident memory in MiB; `undefined` where there is no `/proc`. */
export function memoryMiBOf(pid: number): number | undefined {
  try {
    const kibibytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) / 1024;
  } catch {
    return undefined;
  }
}

/** A program and everything it has started that still runs; itself alone where there is no `/proc`. */
export function treeOf(pid: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const name of proc()) {
    const parent = parentOf(name);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [pid];
  // Grows while it is walked.
  for (const one of tree) tree.push(...(children.get(one) ?? []));
  return tree;
}

function proc(): readonly string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

/** Cores each program kept busy while something ran; empty where that cannot be read. */
export type Busyness = Readonly<Record<string, number>>;

/** Measures from now until the returned function is called. */
export function watchProcessors(
  programs: Readonly<Record<string, readonly number[]>>,
): () => Busyness {
  const read = (): (readonly [string, number | undefined])[] =>
    Object.entries(programs).map(([name, pids]) => {
      const seconds = pids.map(processorSecondsOf);
      const isKnown = seconds.every((one) => one !== undefined);
      return [name, isKnown ? seconds.reduce((sum, one) => sum + one, 0) : undefined];
    });
  const before = new Map(read());
  const begun = performance.now();
  return () => {
    const elapsed = (performance.now() - begun) / 1000;
    return Object.fromEntries(
      read().flatMap(([name, after]) => {
        const start = before.get(name);
        return start === undefined || after === undefined
          ? []
          : [[name, (after - start) / elapsed]];
      }),
    );
  };
}

export function pidOf({ child }: Started): number {
  if (child.pid === undefined) throw new Error('a program without a process id');
  return child.pid;
}

/** Payments that a program has worked off. */
interface Worked {
  readonly completed: number;
  /** Processor time of the program, ms; `undefined` where it cannot be read. */
  readonly processorMs: number | undefined;
}

/** Milliseconds of processor time for each payment of all runs; `undefined` where it cannot be read. */
export function processorMsOf(runs: readonly Worked[]): number | undefined {
  let [total, completed] = [0, 0];
  for (const run of runs) {
    if (run.processorMs === undefined) return undefined;
    total += run.processorMs;
    completed += run.completed;
  }
  return completed === 0 ? undefined : total / completed;
}
