/** Words of PromQL that are neither a function (those have a parenthesis after them) nor a series. */
const KEYWORDS = new Set([
  'and',
  'or',
  'unless',
  'by',
  'without',
  'on',
  'ignoring',
  'bool',
  'offset',
]);

/**
 * The series an expression reads: whatever identifiers are left once labels, numbers, functions and
 * keywords are taken out. A series that is misspelt is among them.
 */
export function seriesIn(expression: string): readonly string[] {
  const bare = expression
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
    .replaceAll(/\{[^}]*\}/g, ' ')
    .replaceAll(/\[[^\]]*\]/g, ' ')
    .replaceAll(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, ' ')
    .replaceAll(/\b[a-z_]+\s*\(/g, '(');
  const words = bare.match(/[a-zA-Z_:][\w:]*/g) ?? [];
  return [...new Set(words)].filter((word) => !KEYWORDS.has(word));
}
