import type { IncomingMessage } from 'node:http';
import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  NotFoundException,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';

/** Marks a route for operators. It does not exist on the public port. */
export const OpsOnly = Reflector.createDecorator();

const OPS = Symbol('ops');

interface OpsRequest extends IncomingMessage {
  [OPS]?: true;
}

/** Marks a request of the operators' port. */
export function markOps(request: IncomingMessage): void {
  (request as OpsRequest)[OPS] = true;
}

/** Whether a request came to the operators' port. */
export function isOps(request: IncomingMessage): boolean {
  return (request as OpsRequest)[OPS] === true;
}

/** Checks the route, not the path, because a path has several spellings. */
@Injectable()
export class OpsGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const places = [context.getHandler(), context.getClass()];
    const isForOps = this.reflector.getAllAndOverride(OpsOnly, places) !== undefined;
    if (!isForOps || isOps(context.switchToHttp().getRequest<IncomingMessage>())) return true;
    // The answer equals that for an unknown path, with any key.
    throw new NotFoundException();
  }
}
