import type { IncomingMessage } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import proxyAddr from 'proxy-addr';
import { AppConfig } from '../config/app-config.js';

/** The address of a client by the rules of Express: `TRUST_PROXY` names the proxies whose headers count. */
@Injectable()
export class ClientAddresses {
  readonly #trust: (address: string, distance: number) => boolean;

  constructor(@Inject(AppConfig) { trustProxy }: Pick<AppConfig, 'trustProxy'>) {
    // `off`, a number of proxies, or a list of their addresses and networks.
    const count = Number(trustProxy);
    if (trustProxy === 'off') this.#trust = () => false;
    else if (Number.isInteger(count)) this.#trust = (_, distance) => distance < count;
    else this.#trust = proxyAddr.compile(trustProxy.split(',').map((one) => one.trim()));
  }

  /** `undefined` after the connection is closed. */
  of(request: IncomingMessage): string | undefined {
    return request.socket.remoteAddress === undefined ? undefined : proxyAddr(request, this.#trust);
  }
}
