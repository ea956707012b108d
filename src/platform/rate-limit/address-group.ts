import { isIP } from 'node:net';
import { embeddedIPv4, groupsOfIPv6, isIPv4Mapped } from '../http/ipv6.js';

/** Callers without a valid address share one limit, so that an invented text is not a new caller. */
const UNKNOWN = 'unknown';

/**
 * The subscriber of an address: the address itself for IPv4 (also in IPv6 notation), and the /64 network for IPv6.
 *
 * @param address - from Express; behind a proxy it may be any text of a header.
 */
export function addressGroup(address: string | undefined): string {
  return groupOf(address, 64);
}

/** The group by /56, which a customer of a network gets, with 256 /64 networks. */
export function customerGroup(address: string | undefined): string {
  return groupOf(address, 56);
}

/**
 * The group by /48 for IPv6, which a site gets (RFC 6177), and by /24 for IPv4: for limits that one person must not
 * exceed with many networks.
 */
export function siteGroup(address: string | undefined): string {
  const group = groupOf(address, 48);
  return isIP(group) === 4 ? `${group.slice(0, group.lastIndexOf('.'))}.0/24` : group;
}

function groupOf(address: string | undefined, bits: 48 | 56 | 64): string {
  const [plain = ''] = (address ?? '').split('%');
  const family = isIP(plain);
  if (family === 0) return UNKNOWN;
  if (family === 4) return plain;
  const groups = groupsOfIPv6(plain);
  if (isIPv4Mapped(groups)) return embeddedIPv4(groups);
  const [first = 0, second = 0, third = 0, fourth = 0] = groups;
  const kept = { 48: 0, 56: fourth & 0xff00, 64: fourth }[bits];
  const network = [first, second, third, kept];
  return `${network.map((group) => group.toString(16)).join(':')}::/${bits}`;
}
