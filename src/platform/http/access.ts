import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import {
  createParamDecorator,
  type ExecutionContext,
  ForbiddenException,
  HttpException,
  type Type,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Address } from 'viem';
import type { RateLimitBucket, Scope } from '../config/access-settings.js';
import { type AnswerHeaders, HttpRefusal, setHeaders } from './answer.js';

/** Restricts a route to API keys with this scope, if API keys are in use. */
export const RequireScope = Reflector.createDecorator<Scope>();

/** Counts the requests of a route in this bucket, if the bucket has a limit. */
export const RateLimited = Reflector.createDecorator<RateLimitBucket>();

/** The access rule of a route. */
export interface AccessRule {
  /** Absent for public routes. */
  readonly scope: Scope | undefined;
  /** Absent for routes without a rate limit. */
  readonly bucket: RateLimitBucket | undefined;
}

/** The decision on a request. */
export interface AccessDecision {
  /** Status of the refusal; `undefined` if the request is allowed. */
  readonly refusal: 401 | 403 | 429 | undefined;
  /** Id of the API key; `undefined` without one, or if none is required. */
  readonly caller: string | undefined;
  /** The payees whose settlements the key may list. */
  readonly payees?: ReadonlySet<Address> | undefined;
  /** Whether the key has the scope `admin`, on any route. */
  readonly isOperator?: boolean | undefined;
  /** Whether the key has the scope `simulate`, on any route. */
  readonly maySimulate?: boolean | undefined;
  /** Whether an unknown API key was sent to a public route. */
  readonly isKeyUnknown?: boolean | undefined;
  /** Headers of the answer, also of a refusal. */
  readonly headers: AnswerHeaders;
}

/** API keys and rate limits for all requests. Absent if neither is configured. */
export interface AccessPolicy {
  /** Decides by the head of a request, before its body is read. Synchronous if no I/O is needed. */
  decide(request: IncomingMessage, rule: AccessRule): AccessDecision | Promise<AccessDecision>;
}

export const AccessPolicy = Symbol('AccessPolicy');

/** Reads the decorators of a route: of the handler, otherwise of its class. */
export function ruleOf(
  reflector: Reflector,
  controller: Type,
  handler: ReturnType<ExecutionContext['getHandler']>,
): AccessRule {
  const places = [handler, controller];
  return {
    scope: reflector.getAllAndOverride(RequireScope, places),
    bucket: reflector.getAllAndOverride(RateLimited, places),
  };
}

/**
 * Allows or refuses a request, and stores the decision on the request and its answer.
 *
 * @returns `undefined` for a synchronous decision, so that the body can be read without a delay.
 * @throws HttpException for a refusal; the error filter of the route formats it.
 */
export function admit(
  policy: AccessPolicy,
  rule: AccessRule,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> | undefined {
  const decision = policy.decide(request, rule);
  if (decision instanceof Promise) {
    return decision.then((later) => {
      apply(later, rule.scope, request, response);
    });
  }
  apply(decision, rule.scope, request, response);
  return undefined;
}

/** Authentication schemes in a 401: RFC 6750 §3, and `X-API-Key`. */
export const CHALLENGE: AnswerHeaders = {
  'WWW-Authenticate': 'Bearer realm="x402", ApiKey realm="x402"',
};

/** The API key is known, but lacks the scope of the route. */
export class ScopeMissing extends HttpException {
  constructor(readonly scope: Scope) {
    // The hub repeats this text, and its clients know the phrase of the status.
    super(STATUS_CODES[403] ?? '', 403);
  }
}

function apply(
  { refusal, caller, payees, isOperator, maySimulate, isKeyUnknown, headers }: AccessDecision,
  scope: Scope | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  setHeaders(response, headers);
  if (refusal === 403 && scope !== undefined) throw new ScopeMissing(scope);
  // The hub repeats the text, and its clients know the phrase of the status.
  if (refusal !== undefined) throw new HttpException(STATUS_CODES[refusal] ?? '', refusal);
  if (caller !== undefined) (request as KnownRequest)[CALLER] = caller;
  if (payees !== undefined) {
    (request as KnownRequest)[PAYEES] = payees;
    // A cache may know only the URL, and has to give one key's lists to no other.
    if (request.method !== 'POST') response.setHeader('Cache-Control', 'no-store');
  }
  if (isOperator === true) (request as KnownRequest)[OPERATOR] = true;
  if (maySimulate === true) (request as KnownRequest)[SIMULATES] = true;
  if (isKeyUnknown === true) (request as KnownRequest)[KEY_UNKNOWN] = true;
}

const CALLER = Symbol('caller');
const PAYEES = Symbol('payees');
const OPERATOR = Symbol('operator');
const SIMULATES = Symbol('simulates');
const KEY_UNKNOWN = Symbol('key unknown');

interface KnownRequest extends IncomingMessage {
  [CALLER]?: string;
  [PAYEES]?: ReadonlySet<Address>;
  [OPERATOR]?: boolean;
  [SIMULATES]?: boolean;
  [KEY_UNKNOWN]?: boolean;
}

/** Id of the API key of a request; `undefined` without one, or if none is required. */
export function callerOf(request: IncomingMessage): string | undefined {
  return (request as KnownRequest)[CALLER];
}

/** Whether the API key of a request may simulate settlements; never without a key. */
export function maySimulate(request: IncomingMessage): boolean {
  return (request as KnownRequest)[SIMULATES] === true;
}

/** Whether a request has an unknown API key; never without keys in use. */
export function hasUnknownKey(request: IncomingMessage): boolean {
  return (request as KnownRequest)[KEY_UNKNOWN] === true;
}

/**
 * The payees whose settlements the API key of a request may list. Lists require a key even if the service is public.
 *
 * @throws HttpException 401 without a known key; 403 for a key without the scope or without payees.
 */
export function payeesOf(request: IncomingMessage): ReadonlySet<Address> {
  if (callerOf(request) === undefined) {
    throw new HttpRefusal(STATUS_CODES[401] ?? '', 401, CHALLENGE);
  }
  const payees = (request as KnownRequest)[PAYEES];
  if (payees === undefined) throw new ScopeMissing('history');
  if (payees.size > 0) return payees;
  throw new ForbiddenException('This API key has no payees, so it has no settlements to list.');
}

/** {@link payeesOf} as a parameter of a handler; it refuses before the query is read. */
export const Payees = createParamDecorator((_, context: ExecutionContext) =>
  payeesOf(context.switchToHttp().getRequest()),
);

/** Payees and events that the API key of a request may read and subscribe to. */
export interface Audience {
  readonly payees: ReadonlySet<Address>;
  /** Whether the key is an operator's: it may subscribe to lanes, and needs no payees. */
  readonly isOperator: boolean;
}

/** @throws HttpException like {@link payeesOf}, except that an operator's key needs no payees. */
export function audienceOf(request: IncomingMessage): Audience {
  const known: KnownRequest = request;
  const isOperator = known[OPERATOR] === true;
  const payees = isOperator ? known[PAYEES] : undefined;
  return { payees: payees ?? payeesOf(request), isOperator };
}
