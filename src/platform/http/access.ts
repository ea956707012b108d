import type { IncomingMessage } from 'node:http';
import { Reflector } from '@nestjs/core';
import type { RateLimitBucket, Scope } from '../config/access-settings.js';

/** A route that only keys of this scope may use, where API keys are in use at all. */
export const RequireScope = Reflector.createDecorator<Scope>();

/** A route whose requests are counted in this bucket, where the bucket has a limit. */
export const RateLimited = Reflector.createDecorator<RateLimitBucket>();

const CALLER = Symbol('caller');

interface KnownRequest extends IncomingMessage {
  [CALLER]?: string;
}

/** Notes whose API key a request came with. */
export function setCaller(request: IncomingMessage, keyId: string): void {
  (request as KnownRequest)[CALLER] = keyId;
}

/** Id of the API key a request came with; `undefined` when there was none, or none is asked for. */
export function callerOf(request: IncomingMessage): string | undefined {
  return (request as KnownRequest)[CALLER];
}
