import { SetMetadata } from '@nestjs/common';

/**
 * Phases of a shutdown, in order. The steps of a phase begin together; the next phase begins when they have ended,
 * failed, or timed out. A step exists if its provider does.
 */
export const SHUTDOWN_PHASES = [
  /** Load balancers learn that this process accepts no new requests. */
  'announce',
  /** Waiting requests are answered with the known facts. */
  'waits',
  /** No connection is accepted any more. */
  'doors',
  /** The lanes are released to another process, if there is one, which settles the running requests. */
  'hand-over',
  /** The running requests are answered. Without another process they still need the lanes of this one. */
  'requests',
  'lanes',
  /** Running webhook attempts end; no new one starts since the phase `waits`. */
  'webhooks',
  /** Background work stops, and another process continues it: reconciliation, lost settlements, the catalogue. */
  'background',
  /** The archiver stops; another one archives the changes of the earlier phases. */
  'archive',
  'traces',
  /** The process is removed from the registry. */
  'process',
  /**
   * The ledgers no longer wait for this process after a loss of writes, because everything it did is stored. Skipped
   * if an earlier step failed or timed out. After this, the hooks of Nest close the connections.
   */
  'ledgers',
] as const;

/** Milliseconds of the grace period that are reserved for the phases after the requests. */
export const CLOSING_MS = 2000;

export type ShutdownPhase = (typeof SHUTDOWN_PHASES)[number];

export interface ShutdownStep {
  readonly phase: ShutdownPhase;
  /** The name of the step in the log. */
  readonly step: string;
}

export const SHUTDOWN_STEP = Symbol('SHUTDOWN_STEP');

/** Marks a method without parameters that is called at a shutdown. */
export function AtShutdown(phase: ShutdownPhase, step: string): MethodDecorator {
  return SetMetadata(SHUTDOWN_STEP, { phase, step } satisfies ShutdownStep);
}
