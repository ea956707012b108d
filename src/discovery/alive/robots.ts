/** One line of a group that is ours, as it is compared: every octet in one spelling. */
export interface RobotsRule {
  readonly allow: boolean;
  /** A path, with `*` for anything and `$` at its end for the end. */
  readonly pattern: string;
}

/** What a host wants of us: rules, or to be left alone altogether. */
export type Robots = readonly RobotsRule[] | 'nothing';

/** RFC 9309 §2.5: so much at least has to be read. */
export const ROBOTS_MAX_BYTES = 512_000;
/** Lines of our groups. A host with more has not said it in a way that is cheap to follow: nothing is asked of it. */
const RULES_MAX = 1000;
/** No URL that is listed is longer. */
const PATTERN_MAX = 2048;
/** Stars of one pattern; what is looked for between them costs time. */
const STARS_MAX = 16;

/**
 * `robots.txt` after RFC 9309: the groups that name us, all of them together, or else those for everybody.
 *
 * @param isCutOff - the last line may be half a line, and is not read.
 * @param product - letters, `_` and `-`; compared in any case.
 */
export function readRobots(text: string, isCutOff: boolean, product: string): Robots {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  if (isCutOff) lines.pop();
  const ours: RobotsRule[] = [];
  const everybodys: RobotsRule[] = [];
  let isNamed = false;
  let targets: RobotsRule[][] = [];
  let isHead = false;
  for (const line of lines) {
    const [name, value] = fieldOf(line);
    if (name === 'user-agent') {
      if (!isHead) targets = [];
      isHead = true;
      if (value.startsWith('*')) targets.push(everybodys);
      else if (productOf(value) === product.toLowerCase()) {
        isNamed = true;
        targets.push(ours);
      }
    } else if (name === 'allow' || name === 'disallow') {
      isHead = false;
      // An empty one forbids nothing.
      if (value === '') continue;
      const rule = { allow: name === 'allow', pattern: spelled(value) };
      for (const target of targets) if (target.length <= RULES_MAX) target.push(rule);
    }
  }
  const rules = isNamed ? ours : everybodys;
  return rules.length > RULES_MAX || rules.some(isTooMuch) ? 'nothing' : rules;
}

/** Whether a URL may be asked for: the longest rule that fits decides, and of two as long the one that allows. */
export function mayAsk(robots: Robots, url: URL): boolean {
  if (robots === 'nothing') return false;
  const path = spelled(url.pathname + url.search);
  let [longest, isAllowed] = [-1, true];
  for (const { allow, pattern } of robots) {
    const { length } = pattern;
    if (length < longest || (length === longest && isAllowed) || !fits(pattern, path)) continue;
    [longest, isAllowed] = [length, allow];
  }
  return isAllowed;
}

/** A name in lower case and what stands behind it, without a comment. */
function fieldOf(line: string): readonly [name: string, value: string] {
  const [said = ''] = line.split('#', 1);
  const colon = said.indexOf(':');
  if (colon < 0) return ['', ''];
  return [said.slice(0, colon).trim().toLowerCase(), said.slice(colon + 1).trim()];
}

/** Versions and comments behind a product are of no account. */
function productOf(value: string): string {
  return (/^[a-zA-Z_-]+/.exec(value)?.[0] ?? '').toLowerCase();
}

/** RFC 9309 §2.2.2: letters, digits and `-._~` as they are, everything that is not ASCII percent-encoded. */
function spelled(path: string): string {
  return path
    .replace(/[^\0-\x7f]+/g, (text) => encodeURIComponent(Buffer.from(text).toString()))
    .replace(/%[0-9a-f]{2}/gi, (octet) => {
      const character = String.fromCharCode(parseInt(octet.slice(1), 16));
      return /[\w.~-]/.test(character) ? character : octet.toUpperCase();
    });
}

function isTooMuch({ pattern }: RobotsRule): boolean {
  return pattern.length > PATTERN_MAX || pattern.split('*').length > STARS_MAX + 1;
}

/** From the beginning of the path; what stands between two stars is looked for once, from left to right. */
function fits(pattern: string, path: string): boolean {
  const isWhole = pattern.endsWith('$');
  const [first = '', ...rest] = (isWhole ? pattern.slice(0, -1) : pattern).split('*');
  if (!path.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop();
  if (last === undefined) return !isWhole || at === path.length;
  for (const part of rest) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  if (!isWhole) return path.includes(last, at);
  return path.length - last.length >= at && path.endsWith(last);
}
