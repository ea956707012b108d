import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { callerOf, hasUnknownKey, payeesOf } from '../../platform/http/access.js';

/** Whose settlements a list is of; it refuses before the query is read. `undefined` for the search of one payment. */
export const ListedPayees = createParamDecorator((_, context: ExecutionContext) => {
  const request = context.switchToHttp().getRequest<Request>();
  return needsKey(request.query, request) ? payeesOf(request) : undefined;
});

/**
 * A query that names no payment is a list, where a key comes with it or a parameter of lists. A label belongs to a key: with
 * an unknown one it would be looked for in the wrong place.
 */
function needsKey(query: Readonly<Record<string, unknown>>, request: IncomingMessage): boolean {
  const has = (name: string): boolean => query[name] !== undefined;
  const isKeyUnknown = hasUnknownKey(request);
  if (isKeyUnknown && has('paymentId')) return true;
  if (['transaction', 'payer', 'nonce', 'paymentId'].some(has)) return false;
  const ofLists = ['payTo', 'from', 'to', 'state', 'sale', 'limit', 'cursor'];
  return isKeyUnknown || callerOf(request) !== undefined || ofLists.some(has);
}
