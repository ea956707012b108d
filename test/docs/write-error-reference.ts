import { readFileSync, writeFileSync } from 'node:fs';
import { errorReference, FIRST_FAMILY } from './error-reference.js';

const FILE = new URL('../../docs/errors.md', import.meta.url);

/** Rewrites the sections of reasons in `docs/errors.md`. */
const text = readFileSync(FILE, 'utf8');
const [before = ''] = text.split(`## ${FIRST_FAMILY}\n`);
writeFileSync(FILE, `${before.trimEnd()}\n\n${errorReference()}`);
