import type { IncomingMessage } from 'node:http';
import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  NotFoundException,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';

/** A route for operators: at the public port there is nothing of it. */
export const OpsOnly = Reflector.createDecorator();

const OPS = Symbol('ops');

interface OpsRequest extends IncomingMessage {
  [OPS]?: true;
}

/** Notes that a request came to the operators' port. */
export function markOps(request: IncomingMessage): void {
  (request as OpsRequest)[OPS] = true;
}

/** Whether a request came to the operators' port. */
export function isOps(request: IncomingMessage): boolean {
  return (request as OpsRequest)[OPS] === true;
}

/** Asked by route, not by path: there is more than one way to write a path. */
@Injectable()
export class OpsGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const places = [context.getHandler(), context.getClass()];
    const isForOps = this.reflector.getAllAndOverride(OpsOnly, places) !== undefined;
    if (!isForOps || isOps(context.switchToHttp().getRequest<IncomingMessage>())) return true;
    // As for a path that leads nowhere, whatever key comes with it.
    throw new NotFoundException();
  }
}
