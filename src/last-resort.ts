import { writeSync } from 'node:fs';
import { describeError } from './platform/observability/error-description.js';
import type { ShutdownSignal } from './shutdown-signal.js';

/** The used part of `process`; tests give their own. */
interface FaultSource {
  on(
    event: 'unhandledRejection' | 'uncaughtException',
    listener: (fault: unknown) => void,
  ): unknown;
}

/** A fault in a loop must not fill the log. */
const LINES_MAX = 20;
/** Of pino: fatal. */
const FATAL = 60;

/**
 * Handles unhandled rejections and uncaught exceptions. Node would print the error with all its properties, and errors
 * of Redis hold the arguments of their command, live authorizations among them; and it would exit at once, with every
 * role of this process. Here one line logs the safe facts, the running requests are answered, and the process exits
 * with 1, so that its supervisor starts another one: the state of this one cannot be trusted any longer.
 */
export function handleUnhandled(
  source: FaultSource,
  shutdown: Pick<ShutdownSignal, 'shutDownAfterFault'>,
  write: (line: string) => void = writeToStandardError,
): void {
  let lines = 0;
  const handle = (kind: string) => (fault: unknown) => {
    lines += 1;
    if (lines <= LINES_MAX) {
      const facts = { kind, err: describeError(fault), pid: process.pid };
      const msg = 'unhandled error: the process drains, then exits with code 1';
      write(JSON.stringify({ level: FATAL, time: Date.now(), ...facts, msg }));
    }
    shutdown.shutDownAfterFault();
  };
  source.on('unhandledRejection', handle('rejection'));
  source.on('uncaughtException', handle('exception'));
}

/** At once and without the logger, which may be what is broken. */
function writeToStandardError(line: string): void {
  try {
    writeSync(2, `${line}\n`);
  } catch {
    // Standard error is closed. The exit code still shows the failure.
  }
}
