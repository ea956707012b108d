import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { AppConfig, SETTING_NAMES } from '../../src/platform/config/app-config.js';
import { REASONS } from '../../src/protocol/reasons.js';
import { errorReference } from './error-reference.js';
import { tableRows } from './markdown.js';

const read = (file: string): string =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

/** `NAME_1`, `NAME_2` in one cell are two names. */
const namesIn = (cell: string): string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '');

describe('docs/errors.md', () => {
  const page = read('docs/errors.md');

  it('has a section of each reason in the code, once', () => {
    const documented = [...page.matchAll(/^### (.+)$/gm)].map(([, name]) => name);
    expect(documented).toEqual(Object.keys(REASONS));
  });

  it('says of each what the service says', () => {
    // The whole page in a failure would hide what to do.
    if (!page.includes(errorReference())) {
      throw new Error('the reasons of docs/errors.md are old: npm run docs:errors');
    }
  });
});

describe('settings', () => {
  const sorted = (names: readonly string[]): string[] => [...new Set(names)].sort();

  it('are all in docs/settings.md, and no others', () => {
    const documented = tableRows(read('docs/settings.md')).flatMap(([names]) =>
      namesIn(names ?? ''),
    );
    expect(sorted(documented)).toEqual(sorted(SETTING_NAMES));
  });

  it('are all in .env.example, and no others', () => {
    const documented = [...read('.env.example').matchAll(/^#?\s?([A-Z0-9_]+)=/gm)].map(([, name]) =>
      (name ?? '').replace(/_(?:56|97|31337)$/, '_<chainId>'),
    );
    expect(sorted(documented)).toEqual(sorted(SETTING_NAMES));
  });

  it('of .env.example start a service', () => {
    const env = Object.fromEntries(
      [...read('.env.example').matchAll(/^([A-Z0-9_]+)=(.*)$/gm)].map(([, name, value]) => [
        name ?? '',
        value ?? '',
      ]),
    );
    expect(() => AppConfig.fromEnv(env)).not.toThrow();
  });
});
