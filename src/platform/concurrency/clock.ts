/** Time as the engine reads it, so that a test can decide how late it is. */
export interface Clock {
  /** Milliseconds since the epoch; may jump. */
  now(): number;
  /** Milliseconds since some moment; never goes back. */
  steady(): number;
  sleep(ms: number): Promise<void>;
}

export const Clock = Symbol('Clock');

export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  sleep: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
    }),
};

/** A time of seconds since the epoch, as ISO 8601. */
export function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
