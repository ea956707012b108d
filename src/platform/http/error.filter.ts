import type { IncomingMessage, ServerResponse } from 'node:http';
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
import { sendJson } from './json.js';

/**
 * Every answer that is not data. On verify and settle the body has the fields stock clients look for;
 * no answer holds a stack trace or the text of an unknown error.
 */
@Injectable()
@Catch()
export class ErrorFilter implements ExceptionFilter<unknown> {
  constructor(private readonly logger: PinoLogger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<IncomingMessage>(), http.getResponse<ServerResponse>());
  }

  answer(error: unknown, { url = '' }: IncomingMessage, response: ServerResponse): void {
    if (response.headersSent) {
      response.end();
      return;
    }
    // A failed health check is a report, not an error.
    if (error instanceof ServiceUnavailableException && isReport(error.getResponse())) {
      sendJson(response, error.getStatus(), error.getResponse());
      return;
    }
    const { status, message } = describe(error);
    if (status >= 500) {
      const requestId = response.getHeader('X-Request-Id');
      this.logger.error({ err: error, requestId }, 'request failed');
    }
    sendJson(response, status, bodyFor(url.split('?', 1)[0] ?? '', status, message));
  }
}

function isReport(body: string | object): boolean {
  return typeof body === 'object' && 'details' in body;
}

function describe(error: unknown): { readonly status: number; readonly message: string } {
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

function bodyFor(path: string, status: number, message: string): Readonly<Record<string, unknown>> {
  const reason = REASON_OF_STATUS[status];
  if (/(?:^|\/)verify\/?$/.test(path)) {
    return {
      isValid: false,
      invalidReason: reason ?? 'invalid_payload',
      invalidMessage: message,
    };
  }
  if (/(?:^|\/)settle\/?$/.test(path)) {
    return {
      success: false,
      errorReason: reason ?? 'invalid_payload',
      errorMessage: message,
      transaction: '',
      network: '',
    };
  }
  return { error: message, ...(reason !== undefined && { reason }) };
}
