import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The time of each file of the newest run, the slowest first. */
const TIMES = join(ROOT, 'node_modules/.cache/test-times.tsv');

/**
 * One line for each file, with how far the run is. What a test prints by the console is left out; a failed file is
 * shown with its failures, and with the command that plays this file alone.
 */
export default class ProgressReporter {
  #total = 0;
  #done = 0;
  /** @type {{ seconds: number, path: string }[]} */
  #times = [];
  /** @type {string[]} */
  #failed = [];
  #begun = performance.now();

  /** @param {import('@jest/reporters').AggregatedResult} results */
  onRunStart({ numTotalTestSuites }) {
    this.#total = numTotalTestSuites;
  }

  /**
   * @param {import('@jest/reporters').Test} test
   * @param {import('@jest/reporters').TestResult} result
   */
  onTestFileResult({ path, context }, result) {
    const file = relative(ROOT, path);
    const seconds = (result.perfStats.end - result.perfStats.start) / 1000;
    this.#done += 1;
    this.#times.push({ seconds, path: file });
    const hasFailed = result.numFailingTests > 0 || result.failureMessage;
    const count = `[${String(this.#done).padStart(String(this.#total).length)}/${this.#total}]`;
    const what = hasFailed ? 'FAILED' : 'passed';
    print(`${count} ${what} ${seconds.toFixed(1).padStart(6)} s  ${file}`);
    if (!hasFailed) return;
    this.#failed.push(file);
    print(result.failureMessage ?? '');
    print(`Play this file alone:\n  ${commandFor(context.config.displayName?.name, file)}\n`);
  }

  /**
   * @param {unknown} _contexts
   * @param {import('@jest/reporters').AggregatedResult} results
   */
  onRunComplete(_contexts, results) {
    this.#times.sort((a, b) => b.seconds - a.seconds);
    mkdirSync(dirname(TIMES), { recursive: true });
    const lines = this.#times.map(({ seconds, path }) => `${seconds.toFixed(1)}\t${path}\n`);
    writeFileSync(TIMES, lines.join(''));
    const minutes = ((performance.now() - this.#begun) / 60_000).toFixed(1);
    const { numPassedTests, numFailedTests, numPendingTests } = results;
    const left = this.#total - this.#done;
    print(
      `${this.#done} files in ${minutes} min: ${numPassedTests} tests passed, ${numFailedTests} failed` +
        (numPendingTests > 0 ? `, ${numPendingTests} of the other part` : '') +
        (left > 0 ? `; ${left} files were not played` : ''),
    );
    print(`Times by file: ${relative(ROOT, TIMES)}`);
    if (this.#failed.length > 0) print(`Failed files:\n  ${this.#failed.join('\n  ')}`);
  }
}

/**
 * @param {string | undefined} project
 * @param {string} file
 */
function commandFor(project, file) {
  const seed = process.env.TEST_SEED;
  const set = seed === undefined ? '' : `TEST_SEED=${seed} `;
  return `${set}npm run test:${project ?? 'unit'} -- ${file}`;
}

/** @param {string} text */
function print(text) {
  process.stdout.write(`${text}\n`);
}
