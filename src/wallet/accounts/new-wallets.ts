import { siteGroup } from '../../platform/rate-limit/address-group.js';
import type { RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import { WalletError } from '../wallet-error.js';

const HOUR_SECONDS = 3600;
/** All networks together have as many as so many of them. */
const NETWORKS = 10;

/**
 * How many owners may be new. A wallet costs a tenth of a second, a key file and lines of the journal for good, and
 * anybody is an owner who makes a key: one network has as many an hour as it may have requests a minute.
 */
export class NewWallets {
  /** @param requestsPerMinute - `WALLET_RATE_LIMIT`. */
  constructor(
    private readonly limiter: Pick<RateLimiter, 'take'>,
    private readonly requestsPerMinute: number,
  ) {}

  /** Counts one. @throws WalletError where there were too many. */
  async assertRoom(address: string | undefined): Promise<void> {
    await this.#take(siteGroup(address), this.requestsPerMinute, 'rate_limited');
    await this.#take('all', this.requestsPerMinute * NETWORKS, 'unavailable');
  }

  async #take(who: string, most: number, code: 'rate_limited' | 'unavailable'): Promise<void> {
    const rate = { requests: most, seconds: HOUR_SECONDS, burst: most };
    const { isAllowed, retryAfterSeconds } = await this.limiter.take(`new:${who}`, rate);
    if (isAllowed) return;
    const whose = code === 'rate_limited' ? ' from your network' : '';
    throw new WalletError(code, `Too many new owners came${whose}. Ask again later.`, {
      retryAfterSeconds,
    });
  }
}
