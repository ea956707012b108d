import {
  applyDecorators,
  type ArgumentMetadata,
  type CanActivate,
  Controller,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type PipeTransform,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { validateSync } from 'class-validator';
import type { Request, Response } from 'express';
import { Caller } from '../auth/caller.js';
import { HubAccess, type Purpose } from '../auth/hub-access.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { FORM_MAX_BYTES, readBody } from '../wire/body-reader.js';
import { type Fields, readFormFields, textOf } from '../wire/fields.js';
import { HubErrorFilter } from '../wire/hub-error.filter.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/** Counts a request by its network address. */
@Injectable()
export class AddressLimitGuard implements CanActivate {
  constructor(private readonly limits: HubLimits) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    await this.limits.takeAddress(http.getRequest<Request>(), http.getResponse<Response>());
    return true;
  }
}

/** How a route uses stored files; `strict` where the owner signs this one request, in any hub. */
type AccessKind = Purpose | 'strict' | 'anyone';

export const Access = Reflector.createDecorator<AccessKind>();

/** A request with its caller, body and fields. */
interface HubRequest {
  readonly fields: Fields;
  /** In canonical form; the signer where it was absent. */
  readonly owner: string;
}

const REQUESTS = new WeakMap<Request, HubRequest>();

/** Authenticates the caller, checks that the body is the signed one, and reads its fields and those of the query. */
@Injectable()
export class CallerGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly access: HubAccess,
    private readonly limits: HubLimits,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const kind = this.reflector.get(Access, context.getHandler()) as AccessKind | undefined;
    // The route reads its body itself.
    if (kind === undefined) return true;
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const caller = await this.#callerOf(request, kind);
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
    const body = hasBody ? await readBody(request, FORM_MAX_BYTES) : Buffer.alloc(0);
    caller.assertBody(body);
    await this.limits.takeSigner(caller, http.getResponse<Response>());
    const fields = readFormFields(body, request.query);
    REQUESTS.set(request, { fields, owner: caller.ownerOfRead(textOf(fields, 'owner')) });
    return true;
  }

  async #callerOf(request: Request, kind: AccessKind): Promise<Caller> {
    if (kind === 'anyone') return Caller.anyone;
    return kind === 'strict'
      ? this.access.strictSignerOf(request)
      : this.access.callerOf(request, kind);
  }
}

function requestIn(context: ExecutionContext): HubRequest {
  const read = REQUESTS.get(context.switchToHttp().getRequest<Request>());
  if (read === undefined) throw new TypeError('the route has no @Access');
  return read;
}

/** The owner of the request's files. */
export const Owner = createParamDecorator(
  (_: unknown, context: ExecutionContext) => requestIn(context).owner,
);

/** Makes a DTO of fields. The messages of its decorators are sent unchanged, one a line. */
class DtoPipe implements PipeTransform<Fields> {
  transform(fields: Fields, { metatype }: ArgumentMetadata): object {
    return readDto(metatype as Type<object>, fields);
  }
}

/** @param type - its constructor takes fields. @throws HubRefusal */
export function readDto<T extends object>(type: new (fields: Fields) => T, fields: Fields): T {
  const dto = new type(fields);
  const errors = validateSync(dto, { forbidUnknownValues: false, stopAtFirstError: true });
  if (errors.length === 0) return dto;
  const messages = errors.flatMap(({ constraints = {} }) => Object.values(constraints));
  throw HubRefusal.malformed(messages.join('\n'));
}

/** Fields as they were sent. */
const RawFields = createParamDecorator(
  (_: unknown, context: ExecutionContext) => requestIn(context).fields,
);

/** The request's fields, as the DTO that is the type of the parameter. */
export const RequestFields = (): ParameterDecorator => RawFields(new DtoPipe());

/** A controller of the hub. @param between - guards that run before authentication. */
export function HubApi(...between: readonly Type<CanActivate>[]): ClassDecorator {
  return applyDecorators(
    Controller('api'),
    UseGuards(AddressLimitGuard, ...between, CallerGuard),
    UseFilters(HubErrorFilter),
  );
}
