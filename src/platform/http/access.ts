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

/** A route that only keys of this scope may use, where API keys are in use at all. */
export const RequireScope = Reflector.createDecorator<Scope>();

/** A route whose requests are counted in this bucket, where the bucket has a limit. */
export const RateLimited = Reflector.createDecorator<RateLimitBucket>();

/** What a route asks of its callers. */
export interface AccessRule {
  /** Absent where everybody may ask. */
  readonly scope: Scope | undefined;
  /** Absent where nothing is counted. */
  readonly bucket: RateLimitBucket | undefined;
}

/** Headers of an answer, by name. */
export type AnswerHeaders = Readonly<Record<string, string | number>>;

/** Whether a request is let in. */
export interface AccessDecision {
  /** Status of the refusal; `undefined` for a request that is let in. */
  readonly refusal: 401 | 403 | 429 | undefined;
  /** Id of the API key; `undefined` without one, or where none is required. */
  readonly caller: string | undefined;
  /** Whose settlements the key may list, where it may list any. */
  readonly payees?: ReadonlySet<Address> | undefined;
  /** Whether the key has the scope `admin`, whatever the route asks for. */
  readonly isOperator?: boolean | undefined;
  /** Whether the key has the scope `simulate`, likewise. */
  readonly maySimulate?: boolean | undefined;
  /** For the answer, a refusal or not. */
  readonly headers: AnswerHeaders;
}

/** Keys and limits, for every way a request comes in. It is absent where neither is configured. */
export interface AccessPolicy {
  /**
   * Looks at the head of a request alone: its body has not been read by then. Answers at once where
   * that needs no I/O.
   */
  decide(request: IncomingMessage, rule: AccessRule): AccessDecision | Promise<AccessDecision>;
}

export const AccessPolicy = Symbol('AccessPolicy');

/** Reads the decorators of a route: those of the handler, then those of its class. */
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
 * Lets a request in, or not. What the decision says is noted on the request and on its answer.
 *
 * @returns `undefined` when the decision was made at once: who waits for nothing reads the body as it comes.
 * @throws HttpException when the request is refused; the error filter of the route gives it its shape.
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

/** What a 401 asks for: RFC 6750 §3, and the header of our own. */
export const CHALLENGE: AnswerHeaders = {
  'WWW-Authenticate': 'Bearer realm="x402", ApiKey realm="x402"',
};

/** The API key is known, and does not have the scope of the route. */
export class ScopeMissing extends HttpException {
  constructor(readonly scope: Scope) {
    // The hub repeats the text, and its clients know the phrase of the status.
    super(STATUS_CODES[403] ?? '', 403);
  }
}

function apply(
  { refusal, caller, payees, isOperator, maySimulate, headers }: AccessDecision,
  scope: Scope | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (refusal !== undefined) refuse(refusal, headers, response, scope);
  setHeaders(headers, response);
  if (caller !== undefined) (request as KnownRequest)[CALLER] = caller;
  if (payees !== undefined) (request as KnownRequest)[PAYEES] = payees;
  if (isOperator === true) (request as KnownRequest)[OPERATOR] = true;
  if (maySimulate === true) (request as KnownRequest)[SIMULATES] = true;
}

function refuse(
  status: number,
  headers: AnswerHeaders,
  response: ServerResponse,
  scope?: Scope,
): never {
  setHeaders(headers, response);
  if (status === 403 && scope !== undefined) throw new ScopeMissing(scope);
  // The hub repeats the text, and its clients know the phrase of the status.
  throw new HttpException(STATUS_CODES[status] ?? '', status);
}

function setHeaders(headers: AnswerHeaders, response: ServerResponse): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

const CALLER = Symbol('caller');
const PAYEES = Symbol('payees');
const OPERATOR = Symbol('operator');
const SIMULATES = Symbol('simulates');

interface KnownRequest extends IncomingMessage {
  [CALLER]?: string;
  [PAYEES]?: ReadonlySet<Address>;
  [OPERATOR]?: boolean;
  [SIMULATES]?: boolean;
}

/** Id of the API key of a request; `undefined` without one, or where none is required. */
export function callerOf(request: IncomingMessage): string | undefined {
  return (request as KnownRequest)[CALLER];
}

/** Whether the API key a request came with may have settles played; never without a key. */
export function maySimulate(request: IncomingMessage): boolean {
  return (request as KnownRequest)[SIMULATES] === true;
}

/**
 * Whose settlements may be listed with the API key a request came with. Without a key nothing can
 * be listed, also where no key is required otherwise.
 *
 * @throws HttpException 401 without a key that is known; 403 for one without the scope or without
 *   payees.
 */
export function payeesOf(request: IncomingMessage, response: ServerResponse): ReadonlySet<Address> {
  if (callerOf(request) === undefined) return refuse(401, CHALLENGE, response);
  const payees = (request as KnownRequest)[PAYEES];
  if (payees === undefined) throw new ScopeMissing('history');
  if (payees.size > 0) return payees;
  throw new ForbiddenException('This API key has no payees to list.');
}

/** {@link payeesOf} as a parameter of a handler; it refuses before a query is read. */
export const Payees = createParamDecorator((_, context: ExecutionContext): ReadonlySet<Address> => {
  const http = context.switchToHttp();
  return payeesOf(http.getRequest(), http.getResponse());
});

/** What the API key of a request may read and subscribe to. */
export interface Audience {
  readonly payees: ReadonlySet<Address>;
  /** Whether it is an operator's key: that may subscribe to lanes, and needs no payees. */
  readonly isOperator: boolean;
}

/** @throws HttpException as {@link payeesOf} does; an operator's key needs no payees. */
export function audienceOf(request: IncomingMessage, response: ServerResponse): Audience {
  const known: KnownRequest = request;
  const isOperator = known[OPERATOR] === true;
  const payees = isOperator ? known[PAYEES] : undefined;
  return { payees: payees ?? payeesOf(request, response), isOperator };
}
