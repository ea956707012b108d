import type { ProbeState } from './probe.js';

/** Told of the probes of this process; for the log and for metrics. */
export interface ProberObserver {
  probed(state: ProbeState): void;
  /** Entries, or what is to be noted of them, could not be had. */
  troubled(error: unknown): void;
  /** They can be had again. */
  recovered(): void;
}

export const ProberObserver = Symbol('ProberObserver');
