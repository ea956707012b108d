import { handleUnhandled } from './last-resort.js';
import { ShutdownSignal } from './shutdown-signal.js';

// The rest takes a second to load, and Redis may keep it waiting: signals are heard from here on.
const shutdown = new ShutdownSignal(process);
handleUnhandled(process, shutdown);
if (process.argv.includes('--help')) {
  const { help } = await import('./help.js');
  process.stdout.write(help(), () => process.exit(0));
} else {
  const { start } = await import('./start.js');
  await start(shutdown);
}
