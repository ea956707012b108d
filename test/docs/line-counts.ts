import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/**
 * `npm run docs:counts`: lines of code and of unit tests in the rooms of the money path, for the table
 * in `CONTRIBUTING.md`. A line counts when more than a blank or a comment stands on it.
 *
 * Unit tests are the specs, and the contracts and builders they are made of. Memory twins are neither. A second table has
 * files, all lines, their median and the exports that one other file imports, of the product, its tests and its pages.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** By what is in it; of a twin's folder its contracts and specs. */
const FOLDERS: readonly (readonly [folder: string, isTest: boolean])[] = [
  ['src', false],
  ['test/builders', true],
  ['test/twins', true],
];
const ROOMS = ['protocol', 'settlement', 'facilitator'];

/** Lines on which a token begins or ends, or that a template literal goes on over. */
export function countLines(source: string): number {
  const file = ts.createSourceFile('x.ts', source, ts.ScriptTarget.Latest);
  const lines = new Set<number>();
  const visit = (node: ts.Node): void => {
    const children = node.getChildren(file);
    if (children.length === 0 && node.getText(file) !== '') {
      const { line: first } = file.getLineAndCharacterOfPosition(node.getStart(file));
      const { line: last } = file.getLineAndCharacterOfPosition(node.getEnd());
      for (let line = first; line <= last; line += 1) lines.add(line);
    }
    children.filter((child) => !ts.isJSDoc(child)).forEach(visit);
  };
  visit(file);
  return lines.size;
}

function print(): void {
  console.log('| room | code | unit tests | ratio |\n|---|---|---|---|');
  for (const room of ROOMS) {
    const counts = { code: 0, unit: 0 };
    for (const [folder, isTest] of FOLDERS) {
      if (!existsSync(`${ROOT}${folder}/${room}`)) continue;
      for (const name of readdirSync(`${ROOT}${folder}/${room}`, {
        recursive: true,
        encoding: 'utf8',
      })) {
        if (!name.endsWith('.ts')) continue;
        if (folder === 'test/twins' && !/(-contract|\.spec)\.ts$/.test(name)) continue;
        const kind = isTest || name.endsWith('.spec.ts') ? 'unit' : 'code';
        counts[kind] += countLines(readFileSync(`${ROOT}${folder}/${room}/${name}`, 'utf8'));
      }
    }
    const ratio = counts.unit / counts.code;
    console.log(`| \`src/${room}\` | ${counts.code} | ${counts.unit} | ${ratio.toFixed(2)} |`);
  }
}

interface Tree {
  readonly name: string;
  readonly files: readonly string[];
}

const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${ROOT}${folder}/${name}`);

/** The product, its tests wherever they are, and its pages. */
function trees(): readonly Tree[] {
  const isSpec = (name: string): boolean => name.endsWith('.spec.ts');
  const inSrc = filesIn('src', '.ts');
  return [
    { name: 'src', files: inSrc.filter((name) => !isSpec(name)) },
    { name: 'test', files: [...inSrc.filter(isSpec), ...filesIn('test', '.ts')] },
    { name: 'docs', files: filesIn('docs', '.md') },
  ];
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Of the names that the files of `src` export, how many exactly one other file of all these imports. */
export function exportsUsedOnce(sources: ReadonlyMap<string, string>): number {
  const exported = new Set<string>();
  const users = new Map<string, Set<string>>();
  for (const [path, source] of sources) {
    const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest);
    for (const statement of file.statements) {
      for (const name of namesExportedBy(statement)) exported.add(`${path} ${name}`);
      for (const [from, name] of namesImportedBy(statement, path)) {
        const key = `${from} ${name}`;
        users.set(key, (users.get(key) ?? new Set()).add(path));
      }
    }
  }
  return [...exported].filter((name) => users.get(name)?.size === 1).length;
}

function namesExportedBy(statement: ts.Statement): readonly string[] {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  if (!modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) =>
      ts.isIdentifier(name) ? [name.text] : [],
    );
  }
  const { name } = statement as ts.Statement & { readonly name?: ts.Node };
  return name !== undefined && ts.isIdentifier(name) ? [name.text] : [];
}

function namesImportedBy(
  statement: ts.Statement,
  path: string,
): readonly (readonly [from: string, name: string])[] {
  if (!ts.isImportDeclaration(statement)) return [];
  const { text } = statement.moduleSpecifier as ts.StringLiteral;
  const bindings = statement.importClause?.namedBindings;
  if (!text.startsWith('.') || bindings === undefined || !ts.isNamedImports(bindings)) return [];
  const from = join(dirname(path), text.replace(/\.js$/, '.ts'));
  return bindings.elements.map((one) => [from, (one.propertyName ?? one.name).text]);
}

function printTrees(): void {
  console.log('\n| tree | files | lines | median | exports used once |\n|---|---|---|---|---|');
  for (const { name, files } of trees()) {
    const sources = new Map(files.map((path) => [path, readFileSync(path, 'utf8')]));
    const lines = [...sources.values()].map((source) => source.split('\n').length - 1);
    const total = lines.reduce((sum, count) => sum + count, 0);
    const once = name === 'docs' ? '' : String(exportsUsedOnce(sources));
    console.log(`| \`${name}\` | ${files.length} | ${total} | ${medianOf(lines)} | ${once} |`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  print();
  printTrees();
}
