import { type ServerResponse, STATUS_CODES } from 'node:http';
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
  /** By default what the status says. */
  readonly code?: string | undefined;
  readonly reason: Reason | undefined;
}

/**
 * Every answer that is not data; none holds a stack trace or the text of an unknown error. A route whose
 * clients look for other fields names a filter of its own that extends this one.
 */
@Injectable()
@Catch()
export class ErrorFilter implements ExceptionFilter<unknown> {
  /** The answer while Redis or a chain is unavailable; without it that is an error like others. */
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
      // An error with a cause is a fault and is logged; the others are answers.
      if (error.cause !== undefined) this.#log(error, response);
      sendJson(response, error.status, { error: error.message, code: error.code });
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

  /** The shape of an answer, as the clients of the route know it. */
  protected bodyOf({ status, message, code, reason }: Problem): Readonly<Record<string, unknown>> {
    return {
      error: message,
      code: code ?? codeOf(status, reason),
      ...(reason !== undefined && { reason }),
    };
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
    return isNoRoute(error) ? this.#noSuchPath(response) : describe(error);
  }

  /** A path that leads nowhere here; of a feature that is off the answer names the setting. */
  #noSuchPath({ req }: ServerResponse): Omit<Problem, 'reason'> {
    const off = this.config && featureOff(req.url ?? '', isOps(req), this.config);
    return off === undefined
      ? {
          status: 404,
          code: NO_SUCH_PATH,
          message: 'No such path. GET /openapi.json lists them.',
        }
      : { status: 404, code: 'feature_off', message: off };
  }
}

/** Nest's own error, and that of the guard of operators' routes: neither has a text that was written for it. */
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
  // Errors of the body reader carry a status of their own.
  const status = (error as { status?: unknown } | undefined)?.status;
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return { status, message: FIXED_MESSAGES[status] ?? 'The request could not be read.' };
  }
  return {
    status: 500,
    message: INTERNAL_ERROR,
  };
}

/** Refusals may say more than their status; what is said of a body is the same everywhere. */
function messageOf(error: HttpException, status: number): string {
  const saysMore = (status === 403 || status === 404) && error.message !== STATUS_CODES[status];
  return saysMore ? error.message : (FIXED_MESSAGES[status] ?? error.message);
}

const INTERNAL_ERROR = 'Internal error. Give the X-Request-Id of this answer to the operator.';

const FIXED_MESSAGES: Readonly<Record<number, string>> = {
  401: REASONS.unauthorized.meaning,
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

/** What a program reads of an error that has no code of its own. */
export function codeOf(status: number, reason: string | undefined): string {
  return reason ?? CODE_OF_STATUS[status] ?? 'invalid_request';
}

/** Of a status that says it; any other means that the request was not an envelope. */
const REASON_OF_STATUS: Readonly<Record<number, Reason>> = {
  401: 'unauthorized',
  403: 'forbidden',
  429: 'rate_limited',
};
