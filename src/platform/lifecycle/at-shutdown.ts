import { SetMetadata } from '@nestjs/common';

/**
 * What a process does at its end, in this order. The steps of a phase begin together; the next phase begins when they
 * have ended, failed, or run out of time. Whether a step is there depends on whether its provider is.
 */
export const SHUTDOWN_PHASES = [
  /** Load balancers learn that this process wants no new requests. */
  'announce',
  /** Requests that wait for something are answered with what is known. */
  'waits',
  /** No connection is accepted any more. */
  'doors',
  /** The lanes go to another process, if there is one: the requests that still run are settled there. */
  'hand-over',
  /** The requests that still run are answered. Without another process they need the lanes of this one. */
  'requests',
  'lanes',
  /** Attempts that were begun with the phase `waits` have ended. */
  'webhooks',
  /** Work that another process repeats: reconciliation, lost settlements, the catalogue. */
  'background',
  /** The changes of the earlier phases are archived by the next archiver, if not by this one. */
  'archive',
  'traces',
  /** The process leaves the deployment. Connections are closed after that, by the hooks of Nest. */
  'process',
] as const;

export type ShutdownPhase = (typeof SHUTDOWN_PHASES)[number];

export interface ShutdownStep {
  readonly phase: ShutdownPhase;
  /** In the log, where it fails or takes too long. */
  readonly step: string;
}

export const SHUTDOWN_STEP = Symbol('SHUTDOWN_STEP');

/** A method of a provider, without parameters, that is called when the process ends. */
export function AtShutdown(phase: ShutdownPhase, step: string): MethodDecorator {
  return SetMetadata(SHUTDOWN_STEP, { phase, step } satisfies ShutdownStep);
}
