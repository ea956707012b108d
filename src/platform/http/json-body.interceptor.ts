import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { Request, Response } from 'express';
import type { Observable } from 'rxjs';
import { JsonBodyReader } from './request-body.js';

/**
 * Reads the JSON body for handlers with `@Body()`. Nest runs guards, interceptors and pipes in this order, so no body
 * is read of a refused caller, and pipes find the body.
 */
@Injectable()
export class JsonBodyInterceptor implements NestInterceptor {
  constructor(private readonly bodies: JsonBodyReader) {}

  intercept(
    context: ExecutionContext,
    next: CallHandler,
  ): Observable<unknown> | Promise<Observable<unknown>> {
    return takesBody(context) ? this.#read(context, next) : next.handle();
  }

  async #read(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    request.body = await this.bodies.json(request, http.getResponse<Response>());
    return next.handle();
  }
}

/** Nest stores the parameters of a handler as `<kind>:<index>`. */
function takesBody(context: ExecutionContext): boolean {
  const parameters = Reflect.getMetadata(
    ROUTE_ARGS_METADATA,
    context.getClass(),
    context.getHandler().name,
  ) as Readonly<Record<string, unknown>> | undefined;
  return Object.keys(parameters ?? {}).some((key) => key.startsWith(`${RouteParamtypes.BODY}:`));
}
