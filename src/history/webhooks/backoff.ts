/** Seconds after each attempt that failed until the next one: three days in all. */
const PAUSES = [
  5,
  30,
  120,
  600,
  1800,
  ...[1, 2, 4, 8, 12, 20, 24].map((hours) => hours * 3600),
] as const;
/** What failed together is not tried again together. */
const SPREAD = 0.1;

/** Of one event to one endpoint. */
export const ATTEMPTS_MAX = PAUSES.length + 1;

/**
 * Milliseconds until the next attempt.
 *
 * @param attempts - that have failed.
 * @param random - in [0, 1).
 * @returns `undefined` after the last attempt.
 */
export function pauseAfter(attempts: number, random: number): number | undefined {
  const seconds = PAUSES[attempts - 1];
  return seconds === undefined ? undefined : Math.round(seconds * 1000 * (1 + SPREAD * random));
}
