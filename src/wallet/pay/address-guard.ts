import { BlockList, isIP } from 'node:net';

/** IPv4 ranges that are not globally reachable (IANA special-purpose registry, RFC 6890), and multicast. */
const IPV4_NOT_PUBLIC: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/**
 * Of global unicast (2000::/3) the parts that lead elsewhere: Teredo, ORCHID, documentation and 6to4
 * carry or stand for other addresses.
 */
const IPV6_NOT_PUBLIC: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const notPublic = new BlockList();
for (const [net, bits] of IPV4_NOT_PUBLIC) notPublic.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of IPV6_NOT_PUBLIC) notPublic.addSubnet(net, bits, 'ipv6');
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/**
 * Whether an address is reachable by anybody on the Internet. Everything else of IPv6, the mapped and
 * translated forms of IPv4 among them, is not.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !notPublic.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  return globalUnicast.check(address, 'ipv6') && !notPublic.check(address, 'ipv6');
}
