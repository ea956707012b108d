import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/**
 * `npm run docs:counts`: lines of code and of unit tests in the rooms of the money path, for the table
 * in `CONTRIBUTING.md`. A line counts when more than a blank or a comment stands on it.
 *
 * Unit tests are the specs, and the contracts and builders they are made of. Memory twins are neither.
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

if (process.argv[1] === fileURLToPath(import.meta.url)) print();
