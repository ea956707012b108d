import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

/** JavaScript, for it runs before anything is installed. */
const USAGE_FILE = new URL('../../scripts/usage.mjs', import.meta.url).href;
const { BENCHES, unknownOption, USAGE } = (await import(USAGE_FILE)) as {
  readonly BENCHES: Readonly<Record<string, string>>;
  readonly USAGE: Readonly<Record<string, string>>;
  readonly unknownOption: (task: string, args: readonly string[]) => string | undefined;
};

const fileOf = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const { scripts } = JSON.parse(fileOf('package.json')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
/** Each is one program with a help and a refusal of its own. */
const PROGRAMS = ['node', 'nest', 'tsc', 'jest'];
const OURS = 'node scripts/run.mjs ';

describe('scripts of package.json', () => {
  it.each(Object.entries(scripts))('%s ends in one program that reads options', (_, script) => {
    // Behind `&&` an option would reach the last program only.
    expect(script).not.toContain('&&');
    const program = script.replace(/^NODE_OPTIONS='[^']*' /, '').split(' ')[0];
    expect(PROGRAMS).toContain(program);
  });

  it.each(
    Object.values(scripts)
      .filter((script) => script.startsWith(OURS))
      .map((script) => script.slice(OURS.length).split(' ')),
  )('%s %s has a help, and refuses an option that it does not have', (task = '', ...args) => {
    expect(USAGE[task]).toContain('npm ');
    // Jest refuses those of the tests itself.
    const refused = task === 'test' ? undefined : '--nonsense';
    expect(unknownOption(task, [...args, '--nonsense'])).toBe(refused);
  });
});

describe('benchmarks', () => {
  it.each(Object.entries(BENCHES))('%s reads each option that its help names', (name, options) => {
    const source = fileOf(`bench/${name}.ts`) + fileOf('bench/support/command-line.ts');
    const names = [...options.matchAll(/--([a-z-]+)/g)].map(([, option = '']) => option);
    for (const option of names) {
      expect(source).toMatch(new RegExp(`\\b${option}:|'${option}'|{ ${option} }`));
      expect(unknownOption('bench', [name, `--${option}=1`])).toBeUndefined();
    }
  });
});
