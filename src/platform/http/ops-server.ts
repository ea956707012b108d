import { createServer, type RequestListener, type Server } from 'node:http';
import { isIP } from 'node:net';
import {
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { PinoLogger } from 'nestjs-pino';
import { StartError } from '../../protocol/errors.js';
import { AppConfig } from '../config/app-config.js';
import { markOps } from './ops.js';
import { limitServer, listenProblem } from './server-limits.js';

/**
 * The operators' port: a second server for the same application, which marks its requests. It is open before the
 * public port and until the process ends, so that operators can watch a shutdown.
 */
@Injectable()
export class OpsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  #server: Server | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly adapter: HttpAdapterHost,
    private readonly logger: PinoLogger,
  ) {}

  /** @throws StartError if the port is not available. */
  async onApplicationBootstrap(): Promise<void> {
    const { ops } = this.config;
    if (ops === undefined) {
      this.logger.info('OPS_PORT is not set: no metrics, operator console or detailed health');
      return;
    }
    const answer = this.adapter.httpAdapter.getInstance<RequestListener>();
    const server = createServer((request, response) => {
      if (!isServedHere(request.headers.host, ops.names)) {
        response.writeHead(421, { 'content-type': 'text/plain; charset=utf-8' });
        response.end('Not served under this host name: see OPS_NAMES.\n');
        return;
      }
      markOps(request);
      answer(request, response);
    });
    limitServer(server);
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => {
        const problem = listenProblem(error, ops, { port: 'OPS_PORT', host: 'OPS_HOST' });
        reject(problem === undefined ? error : new StartError(problem));
      });
      server.listen(ops.port, ops.host, resolve);
    });
    this.logger.info(`metrics and operator console are served at ${ops.host}:${ops.port}`);
  }

  onApplicationShutdown(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }
}

/**
 * Whether a request names a host of this service. Another site can point its own name to this address (DNS
 * rebinding), and its scripts could then read answers through a browser on this machine. An IP address cannot be
 * rebound, and a request without a host is not from a browser.
 *
 * @param host - the `Host` of the request.
 * @param names - in lower case, without ports.
 */
export function isServedHere(host: string | undefined, names: readonly string[]): boolean {
  if (host === undefined) return true;
  const name = host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || names.includes(name);
}
