/** The part of it that is used; the package has no types of its own. */
declare module 'proxy-addr' {
  import type { IncomingMessage } from 'node:http';

  type Trust = (address: string, distance: number) => boolean;

  interface ProxyAddr {
    (request: IncomingMessage, trust: Trust): string | undefined;
    compile(addresses: readonly string[]): Trust;
  }

  const proxyAddr: ProxyAddr;
  export default proxyAddr;
}
