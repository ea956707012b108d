import { type IncomingHttpHeaders, type ServerResponse, STATUS_CODES } from 'node:http';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Inject,
  Injectable,
  NotFoundException,
  Optional,
  ServiceUnavailableException,
} from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { type Reason, REASONS } from '../../protocol/reasons.js';
import { AppConfig } from '../config/app-config.js';
import { ScopeMissing } from './access.js';
import { HttpRefusal, setHeaders } from './answer.js';
import { CodedError } from './coded-error.js';
import { statusOf } from './error-status.js';
import { sendJson } from './json.js';
import { featureOff } from './off-features.js';
import { isOps } from './ops.js';
import { escaped, sendPage, wantsPage } from './page.js';
import { StatedProblem } from './stated-problem.js';

const NO_SUCH_PATH = 'no_such_path';

/** The fields of an error answer. */
export interface Problem {
  readonly status: number;
  readonly message: string;
  /** By default the code of the status. */
  readonly code?: string | undefined;
  readonly reason: Reason | undefined;
  /** The place of the fault in the request, if known. */
  readonly place?: object | undefined;
}

/**
 * The answers to all errors, without stack traces and texts of unknown errors. Routes with another error format have
 * a filter that extends this one.
 */
@Injectable()
@Catch()
export class ErrorFilter implements ExceptionFilter<unknown> {
  /** The answer while Redis or a chain is unavailable. Without it, such an error is an internal one. */
  protected readonly unavailable: string | undefined;

  constructor(
    private readonly logger: PinoLogger,
    @Optional() @Inject(AppConfig) private readonly config?: AppConfig,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    this.answer(error, host.switchToHttp().getResponse<ServerResponse>());
  }

  answer(error: unknown, response: ServerResponse): void {
    if (response.headersSent) {
      response.end();
      return;
    }
    if (error instanceof HttpRefusal) setHeaders(response, error.headers);
    // A failed health check is a report, not an error.
    if (error instanceof ServiceUnavailableException && isReport(error.getResponse())) {
      sendJson(response, error.getStatus(), error.getResponse());
      return;
    }
    if (error instanceof StatedProblem) {
      sendJson(response, error.status, this.bodyOf(error));
      return;
    }
    if (error instanceof CodedError) {
      // An error with a cause is logged; others are only answers.
      if (error.cause !== undefined) this.#log(error, response);
      const { message, code, place } = error;
      sendJson(response, error.status, { error: message, code, ...place });
      return;
    }
    const described = this.#describe(error, response);
    if (described.status >= 500) this.#log(error, response);
    if (isNoRoute(error) && this.config !== undefined && wantsPage(response.req)) {
      const { config } = this;
      const main = `<h1>Page not found</h1><p>${escaped(
        described.code === NO_SUCH_PATH ? 'No page has this address.' : described.message,
      )}</p>`;
      sendPage(response, response.req, { config, status: 404, title: 'Page not found', main });
      return;
    }
    const reason = REASON_OF_STATUS[described.status];
    sendJson(response, described.status, this.bodyOf({ ...described, reason }));
  }

  /** The error format of the route. */
  protected bodyOf({ status, message, code, reason }: Problem): Readonly<Record<string, unknown>> {
    return { error: message, code: code ?? reason ?? codeOf(status) };
  }

  #log(error: unknown, response: ServerResponse): void {
    const requestId = response.getHeader('X-Request-Id');
    this.logger.error({ err: error, requestId }, 'request failed');
  }

  #describe(error: unknown, response: ServerResponse): Omit<Problem, 'reason'> {
    const status = statusOf(error);
    if (status !== undefined && this.unavailable !== undefined) {
      return { status, message: this.unavailable };
    }
    if (error instanceof HttpException && error.getStatus() === 401) {
      return { status: 401, message: this.#keyNeeded(response.req.headers) };
    }
    return isNoRoute(error) ? this.#noSuchPath(response) : describe(error);
  }

  /** Distinguishes a missing key, an unknown key, and a deployment without keys. */
  #keyNeeded(headers: IncomingHttpHeaders): string {
    if (this.config !== undefined && this.config.access.apiKeysFile === undefined) {
      return 'This request needs an API key, and this service has no keys. Its operator has to set `API_KEYS_FILE`.';
    }
    return headers['x-api-key'] === undefined && headers.authorization === undefined
      ? REASONS.unauthorized.meaning
      : 'This service does not know the API key. Ask its operator for a key, and send the key in `X-API-Key`.';
  }

  /** The answer to an unknown path. For a feature that is off, it names the setting. */
  #noSuchPath({ req }: ServerResponse): Omit<Problem, 'reason'> {
    const off = this.config && featureOff(req.url ?? '', isOps(req), this.config);
    return off === undefined
      ? {
          status: 404,
          code: NO_SUCH_PATH,
          message: 'This service has no such path. GET /openapi.json lists all paths.',
        }
      : { status: 404, code: 'feature_off', message: off };
  }
}

/** Errors of Nest and of the guard of operators' routes, whose texts are not meant for clients. */
function isNoRoute(error: unknown): boolean {
  if (!(error instanceof NotFoundException)) return false;
  return error.message === 'Not Found' || error.message.startsWith('Cannot ');
}

function isReport(body: string | object): boolean {
  return typeof body === 'object' && 'details' in body;
}

function describe(error: unknown): Omit<Problem, 'reason'> {
  if (error instanceof HttpException) {
    const status = error.getStatus();
    if (error instanceof ScopeMissing) {
      return { status, message: `This API key does not have the scope \`${error.scope}\`.` };
    }
    return { status, message: messageOf(error, status) };
  }
  // Errors of the body reader have their own status.
  const status = (error as { status?: unknown } | undefined)?.status;
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return { status, message: FIXED_MESSAGES[status] ?? 'The request could not be read.' };
  }
  return {
    status: 500,
    message: INTERNAL_ERROR,
  };
}

/** Refusals may say more than their status. Texts about a body are the same on all routes. */
function messageOf(error: HttpException, status: number): string {
  const saysMore = (status === 403 || status === 404) && error.message !== STATUS_CODES[status];
  return saysMore ? error.message : (FIXED_MESSAGES[status] ?? error.message);
}

const INTERNAL_ERROR = 'Internal error. Give the X-Request-Id of this answer to the operator.';

const FIXED_MESSAGES: Readonly<Record<number, string>> = {
  403: REASONS.forbidden.meaning,
  413: 'The body is too large.',
  415: 'The content encoding is not supported.',
  429: REASONS.rate_limited.meaning,
  500: INTERNAL_ERROR,
};

const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'body_timeout',
  413: 'body_too_large',
  415: 'unsupported_encoding',
  500: 'internal_error',
  503: 'unavailable',
};

/** The code of an error without its own code. */
export function codeOf(status: number): string {
  return REASON_OF_STATUS[status] ?? CODE_OF_STATUS[status] ?? 'invalid_request';
}

/** The reason by status; any other status means that the request was not an envelope. */
const REASON_OF_STATUS: Readonly<Record<number, Reason>> = {
  401: 'unauthorized',
  403: 'forbidden',
  429: 'rate_limited',
};
