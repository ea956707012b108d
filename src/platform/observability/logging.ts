import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Params, PinoLogger } from 'nestjs-pino';
import type { AppConfig } from '../config/app-config.js';
import type { Middleware } from '../http/middleware.js';
import { isHandedOver } from '../http/response-end.js';
import { routeOf } from '../http/route.js';
import { describeError } from './error-description.js';
import { isFault, type ResponseObserver } from './response-observer.js';

/**
 * JSON lines on standard output. The request middleware of nestjs-pino is not used: it stores each request in an
 * AsyncLocalStorage, which makes every promise slower on Node 20.
 */
export function logging({ logLevel }: AppConfig): Params {
  const throttle = new LogThrottle();
  return {
    pinoHttp: {
      level: logLevel,
      hooks: {
        logMethod(line, write, level): void {
          if (isOfStart(level, line)) {
            this.debug(...(line as [object]));
            return;
          }
          const kind = level < WARN_LEVEL ? undefined : kindOf(line);
          const decision = kind === undefined ? ALWAYS : throttle.decide(kind, performance.now());
          if (decision.dropped > 0) {
            write.apply(this, [
              { dropped: decision.dropped, kind },
              'similar log lines were dropped; the field dropped is their number',
            ]);
          }
          if (decision.isWritten) write.apply(this, line);
        },
      },
      autoLogging: false,
      // Without this, errors reach the serializer with all their attached objects.
      wrapSerializers: false,
      serializers: { err: (error: unknown) => describeError(error) },
    },
    forRoutes: [],
  };
}

/** Levels of pino. */
const INFO_LEVEL = 30;
const WARN_LEVEL = 40;
const ERROR_LEVEL = 50;

/** Nest logs about a hundred lines at its start, which would hide the few that operators need. */
const FRAMEWORK_CONTEXTS: ReadonlySet<unknown> = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** Errors of Nest about an unusable port are thrown too, and the start reports them with the name of the setting. */
function isOfStart(level: number, [first]: readonly unknown[]): boolean {
  if (typeof first !== 'object' || first === null || !('context' in first)) return false;
  if (level === ERROR_LEVEL) return first.context === 'NestApplication';
  return level === INFO_LEVEL && FRAMEWORK_CONTEXTS.has(first.context);
}

/** Maximum distinct warnings of libraries; further ones are dropped. */
const LIBRARY_WARNINGS_MAX = 100;

/**
 * Turns `console.warn` of libraries into log lines, each text once: BullMQ warns on each connection that its Redis
 * may evict keys.
 */
export function logLibraryWarnings(warn: (text: string) => void): void {
  const written = new Set<string>();
  // eslint-disable-next-line no-console -- libraries have no other place that could be taken over
  console.warn = (...words: readonly unknown[]) => {
    const text = words.map(String).join(' ');
    if (written.has(text) || written.size === LIBRARY_WARNINGS_MAX) return;
    written.add(text);
    warn(text);
  };
}

const ALWAYS: LineDecision = { isWritten: true, dropped: 0 };

/** Lines with the same message and the same error name are of one kind. */
function kindOf(line: readonly unknown[]): string | undefined {
  const [first, second] = line;
  if (typeof first === 'string') return first;
  if (typeof second !== 'string') return undefined;
  const error =
    typeof first === 'object' && first !== null && 'err' in first ? first.err : undefined;
  return error instanceof Error ? `${second} (${error.name})` : second;
}

/** Request ids of other systems that are safe in a header and a log line. */
const REQUEST_ID = /^[\w.-]{1,64}$/;
/** Longer than any real path; the rest of another path is not logged. */
const PATH_MAX_CHARACTERS = 128;

/**
 * Gives every request an id (the id of the caller if it sent one), and logs one line when it is answered. Query
 * strings and bodies contain live authorizations, so they are never logged. Of the headers, only the request id is.
 */
export function requestLog(logger: PinoLogger, observer: ResponseObserver): Middleware {
  return (request, response, next) => {
    const given = request.headers['x-request-id'];
    const id = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    response.setHeader('X-Request-Id', id);
    const begun = performance.now();
    const { method, socket } = request;
    const path = pathOf(request);
    response.on('close', () => {
      const status = isHandedOver(response, socket) ? response.statusCode : undefined;
      observer.responded(routeOf(request), status);
      const line = {
        requestId: id,
        method,
        path,
        status: status ?? 'closed by the client',
        ms: Math.round(performance.now() - begun),
        settlementId: response.getHeader('Settlement-Id'),
      };
      if (isFault(response.statusCode)) logger.error(line, 'request');
      else logger.debug(line, 'request');
    });
    next();
  };
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?');
  return (end === -1 ? url : url.slice(0, end)).slice(0, PATH_MAX_CHARACTERS);
}

/** Lines of one kind per window; further ones are only counted. */
const LINES_PER_WINDOW = 20;
const WINDOW_MS = 10_000;
/** Maximum kinds at a time; beyond that, the oldest window is dropped. */
const KINDS_MAX = 500;

interface Window {
  readonly since: number;
  lines: number;
  dropped: number;
}

/** Whether a line is written, and how many lines of its kind were dropped since the last one. */
interface LineDecision {
  readonly isWritten: boolean;
  readonly dropped: number;
}

/**
 * Limits the log lines of a lasting failure: a Redis without memory fails every call of every lane, and a thousand
 * equal lines per second would hide the line with the cause.
 */
export class LogThrottle {
  readonly #windows = new Map<string, Window>();

  /** @param now - milliseconds of a clock that never decreases. */
  decide(kind: string, now: number): LineDecision {
    const window = this.#windows.get(kind);
    if (window === undefined || now - window.since >= WINDOW_MS) {
      this.#windows.delete(kind);
      this.#windows.set(kind, { since: now, lines: 1, dropped: 0 });
      this.#forgetOldest();
      return { isWritten: true, dropped: window?.dropped ?? 0 };
    }
    if (window.lines < LINES_PER_WINDOW) {
      window.lines += 1;
      return { isWritten: true, dropped: 0 };
    }
    window.dropped += 1;
    return { isWritten: false, dropped: 0 };
  }

  #forgetOldest(): void {
    if (this.#windows.size <= KINDS_MAX) return;
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined) this.#windows.delete(oldest);
  }
}
