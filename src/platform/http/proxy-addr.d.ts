/** The used part of the package, which has no types. */
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
