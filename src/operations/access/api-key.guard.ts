import {
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  Injectable,
  UnauthorizedException,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import type { Scope } from '../../platform/config/access-settings.js';
import { RequireScope, setCaller } from '../../platform/http/access.js';
import { ApiKeyStore } from './api-key-store.js';

/** RFC 6750 §3, and the header of our own. */
const CHALLENGE = 'Bearer realm="x402", ApiKey realm="x402"';

/**
 * Lets a request in whose key has the scope its route asks for. Runs before the body is read: who has
 * no key costs nothing but a hash.
 */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly keys: ApiKeyStore,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const scope = this.reflector.getAllAndOverride(RequireScope, [
      context.getHandler(),
      context.getClass(),
    ]) as Scope | undefined;
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const presented = presentedKey(request, scope);
    const key = presented === undefined ? undefined : this.keys.find(presented);
    // Without a scope too: the rate limit counts by key.
    if (key !== undefined) setCaller(request, key.id);
    if (scope === undefined || key?.scopes.has(scope) === true) return true;
    // Asking again with the same key is of no use (RFC 9110, sections 15.5.2 and 15.5.4).
    if (key !== undefined) throw new ForbiddenException();
    http.getResponse<Response>().setHeader('WWW-Authenticate', CHALLENGE);
    throw new UnauthorizedException();
  }
}

/** `X-API-Key`, else a bearer token; `Authorization` on the hub and for operators is not ours. */
function presentedKey(request: Request, scope: Scope | undefined): string | undefined {
  const key = request.get('x-api-key');
  if (key !== undefined || scope === 'hub' || scope === 'admin') return key;
  return /^Bearer +([^\s]+)$/i.exec(request.get('authorization') ?? '')?.[1];
}
