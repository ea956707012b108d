import { isIP } from 'node:net';

/**
 * Whether a request names a host of this service. Another site can point its own name to this
 * address (DNS rebinding): a browser on this machine then takes the answers for that site's. An IP
 * address cannot be rebound, and a request without a host is not from a browser.
 *
 * @param host - the `Host` of the request.
 * @param names - in lower case, without ports.
 */
export function isServedHere(host: string | undefined, names: readonly string[]): boolean {
  if (host === undefined) return true;
  const name = host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || names.includes(name);
}
