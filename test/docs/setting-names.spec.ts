import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { KNOWN_NAMES } from '../../src/platform/config/app-config.js';
import { isRemovedSetting } from '../../src/platform/config/removed-settings.js';
import { unknownSettings } from '../../src/platform/config/unknown-settings.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

function filesIn(folder: string, ending: RegExp): string[] {
  return readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !/\.spec\.ts$|(^|\/)decisions\//.test(name))
    .map((name) => `${folder}/${name}`);
}

/** What is said, in the code of a program: texts with more than one word. */
function saidIn(code: string): string[] {
  return [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)]
    .map(([, single, double, template]) => single ?? double ?? template ?? '')
    .map((text) => text.replaceAll(/\$\{[^}]*\}/g, '<chainId>'))
    .filter((text) => text.includes(' '));
}

/** Upper-case names, with the number of a chain or what stands for it; `NAME_*` stands for many. */
const NAME = /\b[A-Z][A-Z\d]*(?:_[A-Z\d]+)+(?:_?<[a-zA-Z][^>]*>|_\*)?/g;

function problemsIn(text: string): string[] {
  return [...text.matchAll(NAME)].flatMap(([name]) => {
    if (name.endsWith('*') || OF_OTHERS.has(name) || isRemovedSetting(name)) return [];
    const setting = name.replace(/_?<[^>]*>$|_N$/, '_56');
    return unknownSettings([setting], KNOWN_NAMES, [56]).map((problem) => `${name} (${problem})`);
  });
}

/** Variables of the sandbox, of examples and of other programs, and names of contracts. */
const OF_OTHERS: ReadonlySet<string> = new Set([
  'RPC_URL',
  'SIGNER_KEY',
  'SIGNER_KEYS_PATH',
  'WEBHOOK_SECRET',
  'SETTLE_WITH_PERMIT',
]);

describe('settings that are named', () => {
  it.each([
    ...filesIn('docs', /\.md$/),
    ...filesIn('deploy', /\.(md|ya?ml|env)$/),
    ...filesIn('skills', /\.md$/),
    'README.md',
    'SECURITY.md',
    'CONTRIBUTING.md',
    'docker-compose.yml',
  ])('in %s are settings', (file) => {
    expect(problemsIn(readFileSync(`${ROOT}${file}`, 'utf8'))).toEqual([]);
  });

  it('in messages and pages are settings', () => {
    const files = [...filesIn('src', /\.ts$/), ...filesIn('public', /\.(js|html)$/)];
    const wrong = files.flatMap((file) => {
      const text = readFileSync(`${ROOT}${file}`, 'utf8');
      const said = file.endsWith('.html') ? [text] : saidIn(text);
      return said.flatMap(problemsIn).map((problem) => `${file}: ${problem}`);
    });
    expect(wrong).toEqual([]);
  });
});
