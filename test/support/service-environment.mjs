import { TestEnvironment } from 'jest-environment-node';

/** So many lines of a service's log are shown with a failed test. */
const SHOWN_LINES = 50;
/** Levels of pino. */
const WARN = 40;

/**
 * Shows with each failed test what the services of its file have logged of warning and above. A spec's services are
 * known by `test/support/patience.ts`.
 */
export default class ServiceEnvironment extends TestEnvironment {
  /** @param {import('jest-circus').Event} event */
  handleTestEvent(event) {
    const hasFailed = event.name === 'test_done' && event.test.errors.length > 0;
    if (!hasFailed) return;
    for (const { url, log } of this.global.servicesOfSpec ?? []) {
      const lines = troubleIn(log());
      if (lines.length === 0) continue;
      const shown = lines.slice(-SHOWN_LINES);
      process.stderr.write(
        `\n"${event.test.name}" failed. ${url} logged ${lines.length} lines of warning and above, the last of them:\n  ${shown.join('\n  ')}\n`,
      );
    }
  }
}

/** @param {string} log - lines of JSON, and what a process prints when it ends. */
function troubleIn(log) {
  return log.split('\n').filter((line) => {
    if (line.trim() === '') return false;
    try {
      return JSON.parse(line).level >= WARN;
    } catch {
      return true;
    }
  });
}
