import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ThrottlerGuard, type ThrottlerRequest } from '@nestjs/throttler';
import type { Request } from 'express';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import { RedisUnavailableError } from '../../protocol/errors.js';

/** Tells limits in the headers that clients know, and lets requests in while nobody can count them. */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard {
  protected override headerPrefix = 'RateLimit';

  /** Who asks without an API key: the same callers as at the other doors. */
  protected override getTracker({ ip }: Request): Promise<string> {
    return Promise.resolve(addressGroup(ip));
  }

  protected override async handleRequest(request: ThrottlerRequest): Promise<boolean> {
    try {
      return await super.handleRequest(request);
    } catch (error) {
      // Redis away: the answer is the true one that the service gives then, not a refusal.
      if (error instanceof RedisUnavailableError) return true;
      throw error;
    }
  }

  protected override async throwThrottlingException(
    context: ExecutionContext,
    detail: Parameters<ThrottlerGuard['throwThrottlingException']>[1],
  ): Promise<void> {
    const { res } = this.getRequestResponse(context);
    this.setResponseHeader(res, 'RateLimit-Limit', detail.limit);
    this.setResponseHeader(res, 'RateLimit-Remaining', 0);
    this.setResponseHeader(res, 'RateLimit-Reset', detail.timeToExpire);
    await super.throwThrottlingException(context, detail);
  }
}
