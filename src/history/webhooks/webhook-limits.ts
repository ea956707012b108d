import { Inject, Injectable } from '@nestjs/common';
import {
  type Rate,
  RateLimiter,
  type RateVerdict,
} from '../../platform/rate-limit/rate-limiter.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';

/**
 * - `send`: an event of its own is kept and posted: a test, or a challenge for a new or another URL.
 * - `replay`: up to a thousand events that are kept already are posted again.
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

/** Counts the requests of webhooks. */
@Injectable()
export class WebhookLimiter extends RateLimiter {
  constructor(@Inject(LEDGER_REDIS) redis: SharedRedis) {
    super(redis, 'webhooks');
  }
}

/**
 * Limits requests that make this service post to a URL of the caller's choice: of each endpoint,
 * and of all endpoints of an API key, deleted ones included.
 */
@Injectable()
export class WebhookLimits {
  constructor(@Inject(WebhookLimiter) private readonly limiter: Pick<RateLimiter, 'take'>) {}

  /**
   * @param endpointId - `undefined` for one that is about to be made.
   * @returns what refuses the request; `undefined` where it may go on.
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
