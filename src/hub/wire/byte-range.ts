/** What a GET wants of a payload of `size` bytes. */
type ByteRange =
  | { readonly kind: 'all' }
  | { readonly kind: 'part'; readonly from: number; readonly length: number }
  | { readonly kind: 'unsatisfiable' };

const ALL: ByteRange = { kind: 'all' };

/**
 * Reads `Range` (RFC 9110 §14). Several ranges, other units and what is malformed are answered with
 * everything, as the RFC allows.
 */
export function byteRangeOf(header: string | undefined, size: number): ByteRange {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '');
  const [, first = '', last = ''] = match ?? [];
  if (match === null || (first === '' && last === '')) return ALL;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? { kind: 'unsatisfiable' } : { kind: 'part', from: size - length, length };
  }
  const from = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < from) return ALL;
  return from >= size ? { kind: 'unsatisfiable' } : { kind: 'part', from, length: end - from + 1 };
}

/** Whether a list of entity tags (`If-None-Match`) holds this one, by weak comparison. */
export function hasTag(list: string | undefined, tag: string): boolean {
  if (list === undefined) return false;
  return list
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''))
    .some((one) => one === '*' || one === tag);
}
