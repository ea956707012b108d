import type { TimeSpan } from './settlement-history.js';

/** What the command was given. */
export interface RequestedWindow {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly network?: string | undefined;
}

const DAY_MS = 86_400_000;
/** A day, or a moment with its zone: a time without one would be of wherever the process runs. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

/**
 * @returns `undefined` for an empty or malformed window: it would read nothing, and find no error.
 */
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
