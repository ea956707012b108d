import { writeSync } from 'node:fs';
import { describeError } from './platform/observability/error-description.js';
import type { ShutdownSignal } from './shutdown-signal.js';

/** What this needs of `process`; tests give their own. */
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
 * Takes what nothing else handled: a promise without an owner, an error thrown where nobody catches it.
 * Node would print it with everything that hangs on it, and errors of Redis hold the arguments of their
 * command, live authorizations among them; and it would end at once, with every role of this process.
 * Here a line says what is safe to say, the running requests are answered, and the process ends with 1,
 * so that whoever runs it starts another: its state is not to be trusted any longer.
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
      const msg = 'nobody handled this: draining, then ending with 1';
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
    // Nobody reads it. The exit code still tells.
  }
}
