import {
  type DoctorFinding,
  type Severity,
  SHOWN_MAX_CHARACTERS,
} from './dto/doctor-report.response.js';

const SHOWN_VALUES_MAX = 20;

/**
 * A seller's value as a report may show it: JSON in printable ASCII, cut to one line. The value stays untrusted for
 * every page that shows it.
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

/** Lists and objects may be deep, so they are described and not written out. */
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
