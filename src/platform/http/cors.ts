import type { IncomingMessage } from 'node:http';
import type { Middleware } from './middleware.js';
import { isOps } from './ops.js';

const EXPOSED = [
  'Settlement-Id, Settle-Finality, Retry-After, Location, X-Request-Id, EXTENSION-RESPONSES',
  'PAYMENT-REQUIRED, PAYMENT-RESPONSE, Hub-Access, X-Simulated',
  'ETag, Accept-Ranges, Content-Range, Content-Disposition, Hub-Used-Bytes, Hub-Quota-Bytes',
  'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, WWW-Authenticate',
].join(', ');
/** For those that do not say which headers they will send. */
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, X-API-Key, X-Simulate, PAYMENT-SIGNATURE, Hub-Access';
/** Seconds a browser may remember the answer to a preflight. */
const MAX_AGE = '86400';

/**
 * Browsers name the origin of each POST (Fetch standard). Who pays by the thousand does not, and is spared the headers:
 * what answers a POST is in no cache that a browser could get it from.
 */
function isNoBrowser({ method, headers }: IncomingMessage): boolean {
  return method === 'POST' && headers.origin === undefined;
}

/**
 * Public routes use no cookies, so any origin may ask (Fetch standard, CORS protocol). Headers that
 * are always the same; a preflight is answered without going further.
 */
export const cors: Middleware = (request, response, next) => {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  // For the page that is served beside it, and no other.
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
