import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';

/** Reads the address of a client, by the same rules as Express: `TRUST_PROXY` says who may speak for it. */
export class ClientAddresses {
  readonly #trust: (address: string, distance: number) => boolean;

  /** @param trustProxy - `off`, a count of proxies, or a list of their addresses and networks. */
  constructor(trustProxy: string) {
    const count = Number(trustProxy);
    if (trustProxy === 'off') this.#trust = () => false;
    else if (Number.isInteger(count)) this.#trust = (_, distance) => distance < count;
    else this.#trust = proxyAddr.compile(trustProxy.split(',').map((one) => one.trim()));
  }

  /** `undefined` once the connection is gone. */
  of(request: IncomingMessage): string | undefined {
    return request.socket.remoteAddress === undefined ? undefined : proxyAddr(request, this.#trust);
  }
}
