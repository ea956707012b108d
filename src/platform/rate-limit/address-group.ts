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

function groupOf(address: string | undefined, bits: 56 | 64): string {
  const [plain = ''] = (address ?? '').split('%');
  const family = isIP(plain);
  if (family === 0) return UNKNOWN;
  if (family === 4) return plain;
  const groups = groupsOfIPv6(plain);
  if (isIPv4Mapped(groups)) return embeddedIPv4(groups);
  const [first = 0, second = 0, third = 0, fourth = 0] = groups;
  const network = [first, second, third, bits === 64 ? fourth : fourth & 0xff00];
  return `${network.map((group) => group.toString(16)).join(':')}::/${bits}`;
}
