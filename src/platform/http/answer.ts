import type { ServerResponse } from 'node:http';
import {
  type CallHandler,
  type ExecutionContext,
  HttpException,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { Response } from 'express';
import { map, type Observable } from 'rxjs';

/** Headers of an answer, by name. */
export type AnswerHeaders = Readonly<Record<string, string | number>>;

/** The result of a handler whose status or headers depend on its data. Errors do not get these headers. */
export class Answer<T> {
  /** @param status - if it differs from the status of the route. */
  constructor(
    readonly body: T,
    readonly headers: AnswerHeaders,
    readonly status?: number,
  ) {}
}

/** A refusal with headers: `Retry-After`, `Allow`, `WWW-Authenticate`. */
export class HttpRefusal extends HttpException {
  constructor(
    message: string,
    status: number,
    readonly headers: AnswerHeaders,
  ) {
    super(message, status);
  }
}

export function setHeaders(response: ServerResponse, headers: AnswerHeaders): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

/** Writes status and headers of an {@link Answer}; Nest writes its body. */
@Injectable()
export class AnswerInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      map((value: unknown) => {
        if (!(value instanceof Answer)) return value;
        const response = context.switchToHttp().getResponse<Response>();
        setHeaders(response, value.headers);
        if (value.status !== undefined) response.status(value.status);
        return value.body as unknown;
      }),
    );
  }
}
