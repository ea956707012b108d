import { Inject, Injectable } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { siteGroup } from '../../platform/rate-limit/address-group.js';
import { RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';

const HOUR_SECONDS = 3600;
/** The limit for all networks together, as a multiple of the limit for one. */
const NETWORKS = 10;

/** Counts the requests of the wallet. */
@Injectable()
export class WalletLimiter extends RateLimiter {
  constructor(@Inject(WALLET_REDIS) redis: SharedRedis) {
    super(redis, 'wallet');
  }
}

/**
 * Limits the number of new owners. A new wallet costs a tenth of a second, a key file and permanent journal lines, and
 * anybody with a key is an owner. One network may have as many new owners an hour as it may have requests a minute.
 */
@Injectable()
export class NewWallets {
  constructor(
    @Inject(WalletLimiter) private readonly limiter: Pick<RateLimiter, 'take'>,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'requestsPerMinute'>,
  ) {}

  /** Counts one new owner. @throws WalletError where there were too many. */
  async assertRoom(address: string | undefined): Promise<void> {
    await this.#take(siteGroup(address), this.settings.requestsPerMinute, 'rate_limited');
    await this.#take('all', this.settings.requestsPerMinute * NETWORKS, 'unavailable');
  }

  async #take(who: string, most: number, code: 'rate_limited' | 'unavailable'): Promise<void> {
    const rate = { requests: most, seconds: HOUR_SECONDS, burst: most };
    const { isAllowed, retryAfterSeconds } = await this.limiter.take(`new:${who}`, rate);
    if (isAllowed) return;
    const whose = code === 'rate_limited' ? ' from your network' : '';
    throw new WalletError(code, `Too many new owners signed up${whose}. Try again later.`, {
      retryAfterSeconds,
    });
  }
}
