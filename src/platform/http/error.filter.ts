import type { ServerResponse } from 'node:http';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Injectable,
  ServiceUnavailableException,
} from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { type Reason, REASONS } from '../../protocol/reasons.js';
import { CodedError } from './coded-error.js';
import { statusOf } from './error-status.js';
import { sendJson } from './json.js';
import { StatedProblem } from './stated-problem.js';

/** What an answer says of an error. */
export interface Problem {
  readonly status: number;
  readonly message: string;
  readonly reason: Reason | undefined;
}

/**
 * Every answer that is not data; none holds a stack trace or the text of an unknown error. A route whose
 * clients look for other fields names a filter of its own that extends this one.
 */
@Injectable()
@Catch()
export class ErrorFilter implements ExceptionFilter<unknown> {
  /** What is said where Redis or a chain cannot be asked; without it that is an error like others. */
  protected readonly unavailable: string | undefined;

  constructor(private readonly logger: PinoLogger) {}

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
      // One that has a cause is somebody's trouble; the others are answers.
      if (error.cause !== undefined) this.#log(error, response);
      sendJson(response, error.status, { error: error.message, code: error.code });
      return;
    }
    const { status, message } = this.#describe(error);
    if (status >= 500) this.#log(error, response);
    sendJson(response, status, this.bodyOf({ status, message, reason: REASON_OF_STATUS[status] }));
  }

  /** The shape of an answer, as the clients of the route know it. */
  protected bodyOf({ message, reason }: Problem): Readonly<Record<string, unknown>> {
    return { error: message, ...(reason !== undefined && { reason }) };
  }

  #log(error: unknown, response: ServerResponse): void {
    const requestId = response.getHeader('X-Request-Id');
    this.logger.error({ err: error, requestId }, 'request failed');
  }

  #describe(error: unknown): Pick<Problem, 'status' | 'message'> {
    const status = statusOf(error);
    return status === undefined || this.unavailable === undefined
      ? describe(error)
      : { status, message: this.unavailable };
  }
}

function isReport(body: string | object): boolean {
  return typeof body === 'object' && 'details' in body;
}

function describe(error: unknown): Pick<Problem, 'status' | 'message'> {
  if (error instanceof HttpException) {
    const status = error.getStatus();
    return { status, message: FIXED_MESSAGES[status] ?? error.message };
  }
  // Errors of the body reader carry a status of their own.
  const status = (error as { status?: unknown } | undefined)?.status;
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return { status, message: FIXED_MESSAGES[status] ?? 'The request could not be read.' };
  }
  return { status: 500, message: 'Something went wrong here.' };
}

const FIXED_MESSAGES: Readonly<Record<number, string>> = {
  401: REASONS.unauthorized.meaning,
  403: REASONS.forbidden.meaning,
  404: 'There is nothing here.',
  413: 'The body is too large.',
  415: 'The content encoding is not supported.',
  429: REASONS.rate_limited.meaning,
  500: 'Something went wrong here.',
};

/** Of a status that says it; any other means that the request was not an envelope. */
const REASON_OF_STATUS: Readonly<Record<number, Reason>> = {
  401: 'unauthorized',
  403: 'forbidden',
  429: 'rate_limited',
};
