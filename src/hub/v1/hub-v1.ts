import {
  applyDecorators,
  type CanActivate,
  Controller,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { AppConfig } from '../../platform/config/app-config.js';
import { RequireScope } from '../../platform/http/access.js';
import { AddressLimitGuard } from '../api/hub-request.js';
import type { Caller } from '../auth/caller.js';
import { HubAccess, type Purpose } from '../auth/hub-access.service.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { drain } from '../wire/body-reader.js';
import { HubV1ErrorFilter } from '../wire/hub-error.filter.js';
import { HubRefusal } from '../wire/hub-refusal.js';

/** A controller of `/v1`: buckets and objects, as the newest clients of the original use them. */
export function HubV1(): ClassDecorator {
  return applyDecorators(
    Controller('v1'),
    RequireScope('hub'),
    UseGuards(AddressLimitGuard, V1CallerGuard),
    UseFilters(HubV1ErrorFilter),
  );
}

/** What a route of `/v1` does with what is stored; its handler gets the {@link CurrentCaller}. */
export const V1Access = Reflector.createDecorator<Purpose>();

/** Finds the caller of a request. */
@Injectable()
export class V1Callers {
  constructor(private readonly access: HubAccess) {}

  /**
   * Clients of `/v1` sign every request and name no owner, also in a public hub: the signer is the owner then.
   *
   * @param owner - as sent; empty where the request names no owner.
   * @throws HubRefusal
   */
  async callerOf(request: Request, purpose: Purpose, owner: string): Promise<Caller> {
    const caller = await this.access.callerOf(request, purpose);
    if (caller.signer !== undefined || owner !== '') return caller;
    return (await this.access.signerOf(request)) ?? caller;
  }
}

const CALLERS = new WeakMap<Request, Caller>();
const NO_BODY = Buffer.alloc(0);

/** Finds out who asks and counts it. The handler compares a body with the signature. */
@Injectable()
export class V1CallerGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly config: AppConfig,
    private readonly callers: V1Callers,
    private readonly limits: HubLimits,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const purpose = this.reflector.get(V1Access, context.getHandler()) as Purpose | undefined;
    if (purpose === undefined) return true;
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
    try {
      const caller = await this.callers.callerOf(request, purpose, ownerNamedIn(request));
      if (!hasBody) caller.assertBody(NO_BODY);
      await this.limits.takeSigner(caller, http.getResponse<Response>());
      CALLERS.set(request, caller);
      return true;
    } catch (error) {
      if (hasBody) await drain(request, this.config.hub.maxMultipartBytes, error);
      throw error;
    }
  }
}

/** In the path or the query, whose DTO refuses what is no text. */
function ownerNamedIn({ params, query }: Request): string {
  const owner = params['owner'] ?? query['owner'];
  return typeof owner === 'string' ? owner : '';
}

/** The {@link Caller} of a request. */
export const CurrentCaller = createParamDecorator((_, context: ExecutionContext): Caller => {
  const caller = CALLERS.get(context.switchToHttp().getRequest<Request>());
  if (caller === undefined) throw new TypeError('the route has no @V1Access');
  return caller;
});

/**
 * The owner of a request that needs one, in its one form.
 *
 * @param owner - as sent; empty where it is left out.
 * @throws HubRefusal
 */
export function ownerNeeded(caller: Caller, owner: string): string {
  const found = caller.ownerOfRead(owner);
  if (found !== '') return found;
  throw HubRefusal.malformed('owner is required: sign the request, or name it as ?owner=');
}
