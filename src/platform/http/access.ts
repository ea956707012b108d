import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { type ExecutionContext, HttpException, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
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
  /** Id of the API key; `undefined` when there was none, or none is asked for. */
  readonly caller: string | undefined;
  /** For the answer, a refusal or not. */
  readonly headers: AnswerHeaders;
}

/** Keys and limits, for every way a request comes in. There is none where neither is configured. */
export interface AccessPolicy {
  /**
   * Looks at the head of a request alone: its body has not been read by then. Answers at once where
   * nobody has to be asked.
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
      apply(later, request, response);
    });
  }
  apply(decision, request, response);
  return undefined;
}

function apply(
  { refusal, caller, headers }: AccessDecision,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // The hub repeats the text, and its clients know the phrase of the status.
  if (refusal !== undefined) throw new HttpException(STATUS_CODES[refusal] ?? '', refusal);
  if (caller !== undefined) (request as KnownRequest)[CALLER] = caller;
}

const CALLER = Symbol('caller');

interface KnownRequest extends IncomingMessage {
  [CALLER]?: string;
}

/** Id of the API key a request came with; `undefined` when there was none, or none is asked for. */
export function callerOf(request: IncomingMessage): string | undefined {
  return (request as KnownRequest)[CALLER];
}
