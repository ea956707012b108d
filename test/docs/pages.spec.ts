import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCS = join(ROOT, 'docs');

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const ls = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' });

/** Folders of the sources, without installed or built files. */
const OWN = ['src', 'test', 'docs', 'examples', 'scripts', 'sandbox', 'deploy', 'bench', 'skills'];
const BASENAMES = new Set(
  OWN.flatMap((folder) => ls(join(ROOT, folder)).map((file) => file.split('/').at(-1) ?? '')),
);

const PAGES = ls(DOCS)
  .filter((file) => file.endsWith('.md') && file !== 'README.md')
  .sort();
const EXAMPLES = ls(join(ROOT, 'examples'))
  .filter((file) => file.endsWith('README.md'))
  .map((file) => `examples/${file}`);
const ALL = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'docs/README.md',
  ...PAGES.map((page) => `docs/${page}`),
  ...EXAMPLES,
];

/** Code spans that name a file or a folder of this project. */
function filesIn(markdown: string): readonly string[] {
  const prose = markdown.replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/`([^`\s]+)`/g)]
    .map(([, span]) => span ?? '')
    .filter((span) => {
      const isPath = /^\.?[\w-]+(\/[\w.-]+)+$/.test(span) && OWN.includes(span.split('/')[0] ?? '');
      const isName = /^[\w.-]+\.(ts|lua|mjs|md|json|yml|html)$/.test(span);
      return (isPath || isName) && !span.startsWith('*');
    });
}

/** Whether the tree has it: a path from the root, or a name that stands somewhere in it. */
const isThere = (span: string): boolean =>
  existsSync(join(ROOT, span)) || (!span.includes('/') && BASENAMES.has(span));

interface Link {
  readonly target: string;
  readonly anchor: string | undefined;
}

/** Links to files; those to the web are not followed. */
function linksIn(markdown: string): readonly Link[] {
  const prose = markdown.replace(/^\s*```[\s\S]*?^\s*```/gm, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target ?? '')
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', anchor] = target.split('#');
      return { target: path, anchor };
    });
}

/** Anchors of the headings, as the common hosts of open projects make them. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const prose = markdown.replace(/^\s*```[\s\S]*?^\s*```/gm, '');
  return new Set(
    [...prose.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replace(/\s/g, '-'),
    ),
  );
}

/** Pages of this folder that an index links to. */
const listedIn = (index: string): readonly string[] =>
  linksIn(read(index))
    .map(({ target }) => target)
    .filter((target) => target.endsWith('.md') && !target.startsWith('..'))
    .sort();

describe('docs/README.md', () => {
  it('names every page of the folder once, and no other', () => {
    const isDecision = (page: string): boolean => /^decisions\/\d/.test(page);
    expect(listedIn('docs/README.md')).toEqual(PAGES.filter((page) => !isDecision(page)));
  });
});

describe('docs/decisions/README.md', () => {
  it('names every decision once, and no other', () => {
    const decisions = readdirSync(join(DOCS, 'decisions')).filter((file) => file !== 'README.md');
    expect(listedIn('docs/decisions/README.md')).toEqual(decisions.sort());
  });
});

describe.each(['docs/architecture.md', 'docs/glossary.md', 'CONTRIBUTING.md'])('%s', (page) => {
  const named = filesIn(read(page));

  it('names files', () => {
    expect(named.length).toBeGreaterThan(30);
  });

  it('names none that the tree does not have', () => {
    expect(named.filter((span) => !isThere(span))).toEqual([]);
  });
});

describe.each(ALL)('the links of %s', (page) => {
  it('lead somewhere', () => {
    const text = read(page);
    const broken = linksIn(text).filter(({ target, anchor }) => {
      const file = target === '' ? join(ROOT, page) : join(ROOT, dirname(page), target);
      if (!existsSync(file)) return true;
      if (anchor === undefined || statSync(file).isDirectory() || !file.endsWith('.md'))
        return false;
      return !anchorsOf(readFileSync(file, 'utf8')).has(anchor);
    });
    expect(broken).toEqual([]);
  });
});

describe.each(ALL)('the commands of %s', (page) => {
  it('are in package.json', () => {
    const { scripts } = JSON.parse(read('package.json')) as {
      scripts: Readonly<Record<string, string>>;
    };
    const named = [...read(page).matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g)]
      .map(([, name]) => name ?? '')
      .filter((name) => !(name in scripts));
    // `bench:*` names them all.
    expect(named.filter((name) => name !== 'bench:')).toEqual([]);
  });
});
