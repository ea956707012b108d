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
 * Structured lines on standard output. nestjs-pino's own request middleware stays out: it keeps each
 * request in an AsyncLocalStorage, which on Node 20 makes every promise of the process slower.
 */
export function logging({ logLevel }: AppConfig): Params {
  const throttle = new LogThrottle();
  return {
    pinoHttp: {
      level: logLevel,
      hooks: {
        logMethod(line, write, level): void {
          if (level === INFO_LEVEL && isOfFramework(line)) {
            this.debug(...(line as [object]));
            return;
          }
          const kind = level < WARN_LEVEL ? undefined : kindOf(line);
          const decision = kind === undefined ? ALWAYS : throttle.decide(kind, performance.now());
          if (decision.dropped > 0) {
            write.apply(this, [
              { dropped: decision.dropped, kind },
              'lines like this were left out',
            ]);
          }
          if (decision.isWritten) write.apply(this, line);
        },
      },
      autoLogging: false,
      // Else errors come to it with everything that hangs on them.
      wrapSerializers: false,
      serializers: { err: (error: unknown) => describeError(error) },
    },
    forRoutes: [],
  };
}

/** Of pino. */
const INFO_LEVEL = 30;
const WARN_LEVEL = 40;

/** Nest writes some hundred lines about its own start, which hide the few that an operator needs. */
const FRAMEWORK_CONTEXTS: ReadonlySet<unknown> = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

function isOfFramework([first]: readonly unknown[]): boolean {
  if (typeof first !== 'object' || first === null || !('context' in first)) return false;
  return FRAMEWORK_CONTEXTS.has(first.context);
}

const ALWAYS: LineDecision = { isWritten: true, dropped: 0 };

/** Lines are of one kind when their message is the same, and the name of their error. */
function kindOf(line: readonly unknown[]): string | undefined {
  const [first, second] = line;
  if (typeof first === 'string') return first;
  if (typeof second !== 'string') return undefined;
  const error =
    typeof first === 'object' && first !== null && 'err' in first ? first.err : undefined;
  return error instanceof Error ? `${second} (${error.name})` : second;
}

/** Ids of other systems that are safe to repeat in a header and a log line. */
const REQUEST_ID = /^[\w.-]{1,64}$/;
/** Longer than any path there is; the rest of a made-up one is no use to anybody. */
const PATH_MAX_CHARACTERS = 128;

/**
 * Gives every request an id, the caller's own if it has one, and writes one line when it is answered.
 * Query strings and bodies hold live authorizations and are never logged, and no header is but the id.
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

/** Lines of one kind that are written in a window; further ones are only counted. */
const LINES_PER_WINDOW = 20;
const WINDOW_MS = 10_000;
/** Kinds told apart at a time; beyond, the oldest window is forgotten. */
const KINDS_MAX = 500;

interface Window {
  readonly since: number;
  lines: number;
  dropped: number;
}

/** Whether a line is written, and how many of its kind were left out since the last one that was. */
interface LineDecision {
  readonly isWritten: boolean;
  readonly dropped: number;
}

/**
 * Bounds the lines a lasting fault writes: a Redis without memory fails every call of every lane, and a
 * thousand equal lines a second hide the one that says why.
 */
export class LogThrottle {
  readonly #windows = new Map<string, Window>();

  /** @param now - milliseconds of any clock that does not go back. */
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
