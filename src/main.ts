import { handleUnhandled } from './last-resort.js';
import { ShutdownSignal } from './shutdown-signal.js';

// The rest takes a second to load, and Redis may keep it waiting: signals are handled from here on.
const shutdown = new ShutdownSignal(process);
handleUnhandled(process, shutdown);
const [argument] = process.argv.slice(2);
if (argument === '--help') {
  const { help } = await import('./help.js');
  process.stdout.write(help(), () => process.exit(0));
} else if (argument !== undefined) {
  // A setting given as an argument would have no effect.
  process.stderr.write(
    `${argument}: the service takes no arguments. Settings are environment variables: --help lists them.\n`,
    () => process.exit(2),
  );
} else {
  const { start } = await import('./start.js');
  await start(shutdown);
}
