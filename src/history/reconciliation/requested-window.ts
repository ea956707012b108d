import type { TimeSpan } from './settlement-history.js';

/** The arguments of the command. */
export interface RequestedWindow {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly network?: string | undefined;
}

const DAY_MS = 86_400_000;
/** A day, or a time with its zone. A time without a zone would depend on the machine. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

/** @returns `undefined` for an empty or malformed window, because such a run would read nothing and report success. */
export function readWindow({ from, to }: RequestedWindow, now: number): TimeSpan | undefined {
  const toMs = to === undefined ? now : readTime(to);
  if (toMs === undefined) return undefined;
  const fromMs = from === undefined ? toMs - DAY_MS : readTime(from);
  return fromMs === undefined || fromMs >= toMs ? undefined : { fromMs, toMs };
}

function readTime(text: string): number | undefined {
  const ms = TIME.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
