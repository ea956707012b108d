import { Inject, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Redis } from 'ioredis';
import { AppConfig } from '../../config/app-config.js';
import { LEDGER_REDIS } from '../../redis/redis.module.js';
import { HubListing } from '../index/hub-listing.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { addressGroup } from './address-group.js';
import { RateLimiter, type RateVerdict } from './rate-limiter.js';

/** How much and how often. Whatever is off costs nothing. */
@Injectable()
export class HubLimits {
  readonly #rates: RateLimiter | undefined;
  /** Bytes of uploads under way here, by owner. */
  readonly #underWay = new Map<string, number>();

  constructor(
    private readonly config: AppConfig,
    private readonly listing: HubListing,
    @Inject(LEDGER_REDIS) redis: Redis,
  ) {
    const { ratePerSecond } = config.hub;
    this.#rates = ratePerSecond === undefined ? undefined : new RateLimiter(redis, ratePerSecond);
  }

  /** @throws HubRefusal when the caller's address asks too often. */
  async takeAddress(request: Request, response: Response): Promise<void> {
    if (this.#rates === undefined) return;
    const address = addressGroup(request.ip ?? '');
    note(response, await this.#rates.take(`address ${address}`));
  }

  /** @throws HubRefusal when the owner is asked for too often. */
  async takeOwner(owner: string, response: Response): Promise<void> {
    if (this.#rates === undefined || owner === '') return;
    note(response, await this.#rates.take(`owner ${owner}`));
  }

  /**
   * Sets bytes of the owner's quota aside. What counts is all that was ever stored: volumes only grow.
   * Uploads under way in other processes are not seen; each of them can go over by its own size.
   *
   * @returns gives them back; to be called when they are stored, or not to be.
   * @throws HubRefusal when they do not fit.
   */
  async reserve(owner: string, bytes: number): Promise<() => void> {
    const { quotaBytes } = this.config.hub;
    if (quotaBytes === undefined) return () => undefined;
    const before = this.#underWay.get(owner) ?? 0;
    this.#underWay.set(owner, before + bytes);
    const release = (): void => {
      const left = (this.#underWay.get(owner) ?? 0) - bytes;
      if (left > 0) this.#underWay.set(owner, left);
      else this.#underWay.delete(owner);
    };
    try {
      const { bytes: stored } = await this.listing.usageOf(owner);
      // Of uploads under way at once the earlier ones go first.
      if (stored + before + bytes > quotaBytes) {
        throw HubRefusal.forbidden(`quota exceeded: ${stored} of ${quotaBytes} bytes are used`);
      }
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }
}

/** Says where the caller stands (draft-ietf-httpapi-ratelimit-headers), whether it may go on or not. */
function note(response: Response, verdict: RateVerdict): void {
  const { isAllowed, limit, remaining, resetSeconds, retryAfterSeconds } = verdict;
  response.setHeader('RateLimit-Limit', limit);
  response.setHeader('RateLimit-Remaining', remaining);
  response.setHeader('RateLimit-Reset', resetSeconds);
  if (!isAllowed) throw HubRefusal.tooMany(retryAfterSeconds);
}
