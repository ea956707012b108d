import type { Server } from 'node:http';
import { answerInTurn } from './answer-in-turn.js';
import { limitUnread } from './unread-answers.js';

/** Time limit from the first byte of a request to the end of its headers. */
const HEADERS_TIMEOUT_MS = 10_000;
/** Time limit to the end of the body, long enough for uploads. */
const REQUEST_TIMEOUT_MS = 300_000;
/** Longer than the minute for which most load balancers reuse an idle connection. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Time between two checks for slow connections; 30 s by default. */
const CHECK_INTERVAL_MS = 2000;

/**
 * Limits the cost of a connection, for every server: time limits for slow clients, one answer at a time, and a limit
 * for unread answers. Call this before the server listens, and after it has its listeners.
 */
export function limitServer(server: Server): void {
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  // An option of createServer, which Nest calls. The server reads it when it begins to listen.
  Object.assign(server, { connectionsCheckingInterval: CHECK_INTERVAL_MS });
  answerInTurn(server);
  limitUnread(server);
}

/** The settings of the address of a server. */
interface AddressSettings {
  readonly host: string;
  readonly port: string;
}

/** Why a server cannot listen, with the setting to change; `undefined` for another error. */
export function listenProblem(
  error: unknown,
  { port, host }: { readonly port: number; readonly host: string },
  settings: AddressSettings,
): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return `${settings.port}: ${host}:${port} is in use by another program`;
  if (code === 'EACCES') {
    return `${settings.port}: ${host}:${port} may not be used by this user: ports below 1024 need root or CAP_NET_BIND_SERVICE`;
  }
  return code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND'
    ? `${settings.host}: ${host} is not an address of this machine`
    : undefined;
}
