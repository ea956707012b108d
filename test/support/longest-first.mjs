import { basename, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import TestSequencer from '@jest/test-sequencer';
import { CORE } from '../core.mjs';

const TESTS = fileURLToPath(new URL('..', import.meta.url));

/**
 * End-to-end specs first, and the longest of them first, by the times in `test/core.mjs`: else the last file runs while
 * the second core has nothing to do.
 */
export default class LongestFirst extends TestSequencer {
  /** @param {import('jest-runner').Test[]} tests */
  sort(tests) {
    return super.sort(tests).sort((a, b) => secondsOf(b) - secondsOf(a));
  }
}

/** @param {import('jest-runner').Test} test */
function secondsOf({ path }) {
  if (!basename(path).includes('.e2e-spec.')) return 0;
  // Another end-to-end spec takes half a minute.
  return CORE[relative(TESTS, path).replace('.e2e-spec.ts', '')] ?? 30;
}
