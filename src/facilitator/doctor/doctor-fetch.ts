import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import { SafeFetch } from '../../platform/fetch/safe-fetch.js';
import { RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';

/** Limit for an answer; the terms of a payment take a few KiB. */
const ANSWER_MAX_BYTES = 262_144;
/** More than clients take, so that a report can name terms that are too long for them. */
const HEADERS_MAX_BYTES = 65_536;

/** The HTTP client for sellers' servers. */
@Injectable()
export class DoctorFetch extends SafeFetch implements OnModuleDestroy {
  constructor({ doctor }: AppConfig) {
    super({
      userAgent: 'x402-doctor',
      maxBytes: ANSWER_MAX_BYTES,
      maxHeaderBytes: HEADERS_MAX_BYTES,
      allow: doctor?.allow ?? new Set(),
    });
  }

  onModuleDestroy(): Promise<void> {
    return this.close();
  }
}

/** Guards the rate limit of checks. */
@Injectable()
export class DoctorLimiter extends RateLimiter {
  constructor(@Inject(LEDGER_REDIS) redis: SharedRedis) {
    super(redis, 'doctor');
  }
}
