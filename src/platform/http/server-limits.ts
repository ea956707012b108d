import type { Server } from 'node:http';
import { answerInTurn } from './answer-in-turn.js';
import { limitUnread } from './unread-answers.js';

/** From the first byte of a request to the last of its headers. */
const HEADERS_TIMEOUT_MS = 10_000;
/** To the last byte of its body, whatever it is: uploads take their time. */
const REQUEST_TIMEOUT_MS = 300_000;
/** Longer than the minute for which most load balancers keep an idle connection to use again. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** How often Node looks for connections that have taken too long; half a minute when not set. */
const CHECK_INTERVAL_MS = 2000;

/**
 * What one connection may cost, the same for every server: times after which a slow client has to go, one
 * answer at a time, and a bound on answers that are not read. To be called before the server listens and when it
 * has its listeners.
 */
export function limitServer(server: Server): void {
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  // An option of createServer, which Nest calls; the server reads it when it begins to listen.
  Object.assign(server, { connectionsCheckingInterval: CHECK_INTERVAL_MS });
  answerInTurn(server);
  limitUnread(server);
}

/** Why a server cannot listen, in words for the operator; `undefined` where something else failed. */
export function portProblem(error: unknown, port: number, host: string): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return `${host}:${port} is in use by another program`;
  if (code === 'EACCES') {
    return `${host}:${port} may not be used by this user: ports below 1024 need root or CAP_NET_BIND_SERVICE`;
  }
  return code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND'
    ? `${host} is not an address of this machine`
    : undefined;
}
