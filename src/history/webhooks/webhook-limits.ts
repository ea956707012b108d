import { Inject, Injectable } from '@nestjs/common';
import {
  type Rate,
  RateLimiter,
  type RateVerdict,
} from '../../platform/rate-limit/rate-limiter.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';

/**
 * - `send`: a new event is stored and posted: a test, or a challenge for a URL.
 * - `replay`: up to a thousand stored events are posted again.
 */
export type CountedRequest = 'send' | 'replay';

const HOUR_SECONDS = 3600;
const MINUTE_SECONDS = 60;

const OF_KEY: Readonly<Record<CountedRequest, Rate>> = {
  send: { requests: 60, seconds: HOUR_SECONDS, burst: 30 },
  replay: { requests: 30, seconds: MINUTE_SECONDS, burst: 30 },
};
const OF_ENDPOINT: Readonly<Record<CountedRequest, Rate>> = {
  send: { requests: 30, seconds: HOUR_SECONDS, burst: 10 },
  replay: { requests: 10, seconds: MINUTE_SECONDS, burst: 10 },
};

/** Rate limits of requests that change webhooks. */
@Injectable()
export class WebhookLimiter extends RateLimiter {
  constructor(@Inject(LEDGER_REDIS) redis: SharedRedis) {
    super(redis, 'webhooks');
  }
}

/**
 * Limits requests that make this service post to a URL of the caller: for each endpoint, and for all endpoints of an
 * API key, with deleted ones.
 */
@Injectable()
export class WebhookLimits {
  constructor(@Inject(WebhookLimiter) private readonly limiter: Pick<RateLimiter, 'take'>) {}

  /**
   * @param endpointId - `undefined` for a new endpoint.
   * @returns the refusal; `undefined` if the request is allowed.
   * @throws RedisUnavailableError
   */
  async refusalOf(
    request: CountedRequest,
    owner: string,
    endpointId?: string,
  ): Promise<RateVerdict | undefined> {
    const counted: [string, Rate][] = [[`${request}:key:${owner}`, OF_KEY[request]]];
    if (endpointId !== undefined) {
      counted.unshift([`${request}:webhook:${endpointId}`, OF_ENDPOINT[request]]);
    }
    for (const [caller, rate] of counted) {
      const verdict = await this.limiter.take(caller, rate);
      if (!verdict.isAllowed) return verdict;
    }
    return undefined;
  }
}
