import type { IncomingMessage } from 'node:http';
import type { Middleware } from './middleware.js';
import { isOps } from './ops.js';

const EXPOSED = [
  'Settlement-Id, Settle-Finality, Retry-After, Location, X-Request-Id, EXTENSION-RESPONSES',
  'PAYMENT-REQUIRED, PAYMENT-RESPONSE, Hub-Access, X-Simulated',
  'ETag, Accept-Ranges, Content-Range, Content-Disposition, Hub-Used-Bytes, Hub-Quota-Bytes',
  'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, WWW-Authenticate',
].join(', ');
/** For preflights that name no headers. */
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, X-API-Key, X-Simulate, PAYMENT-SIGNATURE, Hub-Access';
/** Seconds for which a browser may cache a preflight. */
const MAX_AGE = '86400';

/**
 * Whether a request is not from a browser: browsers send `Origin` with each POST (Fetch standard). Clients with many
 * requests do without the headers, because answers to POST are not cached.
 */
function isNoBrowser({ method, headers }: IncomingMessage): boolean {
  return method === 'POST' && headers.origin === undefined;
}

/**
 * Public routes use no cookies, so any origin may call them (Fetch standard, CORS protocol). The headers are
 * constant, and a preflight is answered here.
 */
export const cors: Middleware = (request, response, next) => {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  // The operators' port is only for its own page.
  if (isOps(request) || isNoBrowser(request)) {
    next();
    return;
  }
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Access-Control-Expose-Headers', EXPOSED);
  if (request.method !== 'OPTIONS') {
    next();
    return;
  }
  const headers = request.headers['access-control-request-headers'];
  response.setHeader('Access-Control-Allow-Headers', headers ?? ALLOWED_HEADERS);
  response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, DELETE, OPTIONS');
  response.setHeader('Access-Control-Max-Age', MAX_AGE);
  response.statusCode = 204;
  response.setHeader('Content-Length', '0');
  response.end();
};
