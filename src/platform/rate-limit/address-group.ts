import { isIP } from 'node:net';
import { embeddedIPv4, groupsOfIPv6, isIPv4Mapped } from '../http/ipv6.js';

/** Callers without an address share one limit: a made-up text must not be a fresh one. */
const UNKNOWN = 'unknown';

/**
 * Whom an address belongs to: an IPv4 address to itself, also written as IPv6, and an IPv6 address to the
 * /64 network that one subscriber is given whole.
 *
 * @param address - as Express tells it; behind a proxy it may be whatever a header said.
 */
export function addressGroup(address: string | undefined): string {
  return groupOf(address, 64);
}

/** The same by /56: what one customer of a network is given, with 256 networks of /64 in it. */
export function customerGroup(address: string | undefined): string {
  return groupOf(address, 56);
}

/**
 * The same by /48, what a site is given (RFC 6177), and by /24 of IPv4: for what one hand must not fill from
 * many networks.
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
