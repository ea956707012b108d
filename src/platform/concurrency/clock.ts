/** The time source of the engine, so that tests can control the time. */
export interface Clock {
  /** Milliseconds since the epoch; may jump when the clock is set. */
  now(): number;
  /** Milliseconds since an arbitrary moment; never decreases. */
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

/** Seconds since the epoch as ISO 8601. */
export function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
