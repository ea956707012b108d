import { readFileSync, writeFileSync } from 'node:fs';
import { errorExamples } from './error-examples.js';

const FILE = new URL('../../docs/errors.md', import.meta.url);
const HEADING = '## Examples';

/** Rewrites the examples of `docs/errors.md`. */
const text = readFileSync(FILE, 'utf8');
const [before = ''] = text.split(HEADING);
writeFileSync(FILE, `${before.trimEnd()}\n\n${errorExamples()}`);
