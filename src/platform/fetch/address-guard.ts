import { BlockList, isIP } from 'node:net';
import { embeddedIPv4, groupsOfIPv6, isIPv4Mapped } from '../http/ipv6.js';

type Range = readonly [net: string, bits: number];

/**
 * The whole IANA IPv4 Special-Purpose Address Registry (RFC 6890, entries of 2025), with the few globally reachable
 * entries, because no seller is there; and multicast (RFC 5771).
 */
const IPV4_SPECIAL: readonly Range[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/**
 * Metadata addresses of clouds that look public. Other metadata addresses (169.254.169.254, 169.254.170.2,
 * 192.0.0.192, 100.100.100.200, fd00:ec2::254, fd20:ce::254) are special-purpose already; a test names them.
 */
const IPV4_OF_CLOUDS: readonly Range[] = [
  // Azure: its agent, DNS and health probes.
  ['168.63.129.16', 32],
  // IBM Cloud: services and service endpoints of its private network.
  ['161.26.0.0', 16],
  ['166.8.0.0', 14],
];

/**
 * The entries of the IANA IPv6 Special-Purpose Address Registry in global unicast (2000::/3). Addresses outside of
 * 2000::/3 are never public. Teredo (2001::/32) and 6to4 (2002::/16) contain an IPv4 address.
 */
const IPV6_SPECIAL: readonly Range[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
];

const textOf = ([net, bits]: Range): string => `${net}/${bits}`;

/**
 * The same networks in CIDR notation, for network policies. IPv6: within 2000::/3, outside of which nothing is
 * public.
 */
export const NOT_PUBLIC = {
  ipv4: [...IPV4_SPECIAL, ...IPV4_OF_CLOUDS].map(textOf),
  ipv6: IPV6_SPECIAL.map(textOf),
} as const;

const special = new BlockList();
for (const [net, bits] of [...IPV4_SPECIAL, ...IPV4_OF_CLOUDS])
  special.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of IPV6_SPECIAL) special.addSubnet(net, bits, 'ipv6');
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/** Whether an address is reachable on the public Internet; unknown addresses are not. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  const groups = groupsOfIPv6(address);
  // Both forms reach the embedded IPv4 address, so that address must be public.
  if (isIPv4Mapped(groups) || isTranslated(groups)) {
    return !special.check(embeddedIPv4(groups), 'ipv4');
  }
  if (isTunnelled(groups)) return false;
  return globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

/** The well-known prefix of NAT64, 64:ff9b::/96 (RFC 6052), by which IPv6-only networks reach IPv4. */
function isTranslated([first, second, ...rest]: readonly number[]): boolean {
  return first === 0x64 && second === 0xff9b && rest.slice(0, 4).every((group) => group === 0);
}

/** ISATAP (RFC 5214): the interface identifier contains an IPv4 address of the site. */
function isTunnelled(groups: readonly number[]): boolean {
  return groups[5] === 0x5efe && (groups[4] === 0 || groups[4] === 0x200);
}

/** Whether an http or https URL has a host that the operator allows: `host`, or `host:port` for one port. */
export function isAllowedHost(
  { protocol, hostname, host, port }: URL,
  allow: ReadonlySet<string>,
): boolean {
  const withPort = port === '' ? `${host}:${protocol === 'http:' ? 80 : 443}` : host;
  return [hostname, host, withPort].some((name) => allow.has(name));
}

/** Whether the host of a URL is a literal address that is not public. A name is checked when it is resolved. */
export function isPrivateLiteral({ hostname }: URL): boolean {
  const literal = hostname.replace(/^\[|\]$/g, '');
  return isIP(literal) !== 0 && !isPublicAddress(literal);
}
