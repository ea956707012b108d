/**
 * The eight groups of an IPv6 address in any notation.
 *
 * @param address - a valid IPv6 address without a zone.
 */
export function groupsOfIPv6(address: string): readonly number[] {
  // The URL standard normalizes an address to one notation, without dots.
  const { hostname } = new URL(`http://[${address}]`);
  const [head = '', tail = ''] = hostname.slice(1, -1).split('::');
  const first = groupsOf(head);
  const last = groupsOf(tail);
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0);
  return [...first, ...zeros, ...last];
}

/** The IPv4 address in the last two groups. */
export function embeddedIPv4(groups: readonly number[]): string {
  return groups
    .slice(-2)
    .flatMap((group) => [group >> 8, group & 255])
    .join('.');
}

/** `::ffff:a.b.c.d`: an IPv4 address in IPv6 notation; its connections use IPv4. */
export function isIPv4Mapped(groups: readonly number[]): boolean {
  return groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
}

function groupsOf(text: string): readonly number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}
