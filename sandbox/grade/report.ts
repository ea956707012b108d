import { type Fault, FAULTS, type Played } from './plays.js';

/** For people: one play. */
export function lineOf({ name, faults }: Played): string {
  return [
    `  ${faults.length === 0 ? 'ok   ' : 'FAULT'}  ${name}`,
    ...faults.map(({ fault, seen }) => `         ${fault}: ${FAULTS[fault].what} (${seen})`),
  ].join('\n');
}

/** For people: what is said of all plays at the end. */
export function verdictOf(played: readonly Played[]): string {
  const found = faultsIn(played);
  const advice = found.map((fault) => `  ${fault}: ${FAULTS[fault].fix}`);
  return found.length === 0
    ? 'Nothing found: it delivers once for each success, and for nothing else.'
    : [`Found: ${found.join(', ')}`, ...advice].join('\n');
}

export function faultsIn(played: readonly Played[]): readonly Fault[] {
  const found = new Set(played.flatMap(({ faults }) => faults.map(({ fault }) => fault)));
  return (Object.keys(FAULTS) as Fault[]).filter((fault) => found.has(fault));
}

/** For machines: JUnit, a case for each play, one failure for each of its faults. */
export function junitOf(url: string, played: readonly Played[]): string {
  const failures = played.filter(({ faults }) => faults.length > 0).length;
  const seconds = played.reduce((sum, one) => sum + one.seconds, 0).toFixed(3);
  const cases = played.map(({ name, faults, seconds: took }) => {
    const open = `    <testcase classname="x402" name="${escaped(name)}" time="${took.toFixed(3)}"`;
    if (faults.length === 0) return `${open}/>`;
    const reported = faults.map(
      ({ fault, seen }) =>
        `      <failure type="${fault}" message="${escaped(FAULTS[fault].what)}">${escaped(`${seen}. ${FAULTS[fault].fix}`)}</failure>`,
    );
    return [`${open}>`, ...reported, '    </testcase>'].join('\n');
  });
  const counts = `tests="${played.length}" failures="${failures}" errors="0" time="${seconds}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escaped(url)}" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** Without characters that XML does not have. */
function escaped(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ').replaceAll(/[&<>"]/g, (one) => ENTITIES[one] ?? one);
}
