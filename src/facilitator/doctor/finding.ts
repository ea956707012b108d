/**
 * `error`: a stock buyer cannot pay. `warning`: some cannot, it is not what was meant, or it could not be
 * looked at. `note`: what buyers have to know; nothing is wrong.
 */
export type Severity = 'error' | 'warning' | 'note';

/** One finding at one place of a seller's answer. */
export interface DoctorFinding {
  readonly code: string;
  readonly severity: Severity;
  /** From the answer's parts: `status`, `header.…`, `terms.accepts[0].amount`. */
  readonly path: string;
  readonly expected: string;
  /** As the seller said it, shortened and in plain characters; absent where there is nothing to show. */
  readonly got?: string;
  readonly fix: string;
}

const SHOWN_MAX_CHARACTERS = 120;
const SHOWN_VALUES_MAX = 20;

/**
 * A seller's value as a report may show it: JSON, in printable characters of ASCII, no longer than a line.
 * It stays untrusted data for every page that shows it.
 */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'bigint') return shown(value.toString());
  const text =
    typeof value === 'string' ? JSON.stringify(value.slice(0, SHOWN_MAX_CHARACTERS)) : plain(value);
  const printable = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return printable.length <= SHOWN_MAX_CHARACTERS
    ? printable
    : `${printable.slice(0, SHOWN_MAX_CHARACTERS - 3)}...`;
}

/** Lists and objects may be deep: they are named, not written out. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value !== 'object' || value === null) return String(value);
  const names = Object.keys(value);
  const some = names.slice(0, SHOWN_VALUES_MAX).map((name) => name.slice(0, SHOWN_MAX_CHARACTERS));
  return names.length === 0 ? 'an empty object' : `an object with ${some.join(', ')}`;
}

/** A finding about a value the seller sent. */
export function about(
  code: string,
  severity: Severity,
  {
    path,
    expected,
    got,
    fix,
  }: Omit<DoctorFinding, 'code' | 'severity' | 'got'> & { readonly got: unknown },
): DoctorFinding {
  return { code, severity, path, expected, got: shown(got), fix };
}
