import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/**
 * `npm run docs:messages [-- FOLDER]`: every text in `src` that a person reads while the service runs, with its place.
 * To be read from top to bottom as an operator at night, and as a seller who is no native speaker.
 *
 * - `log`: log lines, with their level.
 * - `error`: texts given to an error, or to a function that makes one.
 * - `text`: values of properties such as `message`, `meaning`, `help` and `advice`.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LEVELS = new Set(['fatal', 'error', 'warn', 'info', 'debug']);
const PROPERTIES = new Set(
  [
    'message',
    'meaning',
    'help',
    'advice',
    'cause',
    'hint',
    'detail',
    'what',
    'why',
    'error',
  ].concat(['got', 'expected', 'summary', 'reason', 'todo', 'note', 'title']),
);
const ERRORS =
  /(?:Error|Exception|refuse[ds]?|invalid\w*|problem|issue|fail|reject\w*|unusable|finding)$/i;

interface Message {
  kind: string;
  place: string;
  text: string;
}

/** A text with its values as `…`, or nothing where the expression is no text. */
function textOf(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    const [left, right] = [textOf(node.left), textOf(node.right)];
    return left === undefined && right === undefined ? undefined : `${left ?? '…'}${right ?? '…'}`;
  }
  if (ts.isConditionalExpression(node)) {
    const both = [textOf(node.whenTrue), textOf(node.whenFalse)].filter(
      (text) => text !== undefined,
    );
    return both.length > 0 ? both.join(' | ') : undefined;
  }
  return ts.isParenthesizedExpression(node) ? textOf(node.expression) : undefined;
}

const isSentence = (text: string): boolean => text.trim().split(/\s+/).length > 2;

function calledName(node: ts.Expression): string {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  return ts.isIdentifier(node) ? node.text : '';
}

/** Every message of one source file, in its order. */
export function messagesOf(name: string, source: string): Message[] {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true);
  const found: Message[] = [];
  const note = (kind: string, node: ts.Expression): void => {
    const text = textOf(node)?.replace(/\s+/g, ' ').trim();
    if (text === undefined || !isSentence(text)) return;
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    found.push({ kind, place: `${name}:${line + 1}`, text });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const called = calledName(node.expression);
      const kind = LEVELS.has(called) ? `log ${called}` : ERRORS.test(called) ? 'error' : undefined;
      if (kind !== undefined) for (const argument of node.arguments ?? []) note(kind, argument);
    } else if (ts.isPropertyAssignment(node) && PROPERTIES.has(node.name.getText(file))) {
      note('text', node.initializer);
    } else if (ts.isReturnStatement(node) && node.expression !== undefined) {
      if (/^[a-z]/i.test(textOf(node.expression) ?? '')) note('text', node.expression);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , folder = 'src'] = process.argv;
  const names = readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
    .map((name) => `${folder}/${name}`)
    .sort();
  for (const name of names)
    for (const { kind, place, text } of messagesOf(name, readFileSync(`${ROOT}${name}`, 'utf8')))
      console.log(`${kind.padEnd(9)} ${place}  ${text}`);
}
