import type { IncomingMessage, ServerResponse } from 'node:http';
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AccessPolicy, admit, ruleOf } from '../../platform/http/access.js';

/** Applies keys and limits to the routes of the framework. Guards run before a body is read. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    @Inject(AccessPolicy) private readonly policy: AccessPolicy,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const rule = ruleOf(this.reflector, context.getClass(), context.getHandler());
    await admit(
      this.policy,
      rule,
      http.getRequest<IncomingMessage>(),
      http.getResponse<ServerResponse>(),
    );
    return true;
  }
}
