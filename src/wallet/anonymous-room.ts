import { Inject, Injectable } from '@nestjs/common';
import type { Headroom } from '../platform/concurrency/headroom.js';
import { siteGroup } from '../platform/rate-limit/address-group.js';
import { type Rate, RateLimiter } from '../platform/rate-limit/rate-limiter.js';
import type { SharedRedis } from '../platform/redis/ledger-connections.js';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import { RedisRoom } from '../platform/redis/redis-room.js';
import { WalletError } from './wallet-error.js';

const KIB = 1024;
const MINUTE_SECONDS = 60;
/** Of one network: some four hundred sign-ins by OAuth at once, and two dozen a minute. */
const NETWORK: Rate = { requests: 128 * KIB, seconds: MINUTE_SECONDS, burst: 2048 * KIB };
/** Of all together. What lives for ten minutes never comes to more than 56 MiB. */
const ALL: Rate = { requests: 4096 * KIB, seconds: MINUTE_SECONDS, burst: 16_384 * KIB };
const FULL_RETRY_SECONDS = 60;
/** The memory overhead of a key in Redis, beside its name and value. */
const KEY_BYTES = 150;

/** Of the message by which an owner answers a code or a request of a client: it is stored beside them. */
export const ANSWER_CHARACTERS = 1200;

/** Why nothing is stored: it is too much for a network, or for all together. */
export interface NoRoom {
  readonly isNetworks: boolean;
  readonly retryAfterSeconds: number;
}

@Injectable()
export class AnonymousLimiter extends RateLimiter {
  constructor(@Inject(WALLET_REDIS) redis: SharedRedis) {
    super(redis, 'wallet-room');
  }
}

/** Memory that the Redis of the wallet has left. */
@Injectable()
export class WalletRedisRoom extends RedisRoom {
  constructor(@Inject(WALLET_REDIS) redis: SharedRedis) {
    super(redis);
  }
}

/**
 * What strangers have stored in Redis before an owner has signed anything, counted in bytes: they must not
 * fill the Redis in which agents pay and owners answer.
 */
@Injectable()
export class AnonymousRoom {
  constructor(
    @Inject(AnonymousLimiter) private readonly limiter: Pick<RateLimiter, 'take'>,
    @Inject(WalletRedisRoom) private readonly redis: Pick<Headroom, 'take'>,
  ) {}

  /**
   * @param door - each has room of its own, so that one can be full and the other is not.
   * @param length - bytes of the text that is stored, before it is sealed.
   * @param isKnown - whether it is for an owner that has a wallet, which Redis has room for also when it has no more for
   *   strangers. Asked then alone.
   * @returns `undefined` where there is room, which is taken by that.
   */
  async take(
    door: 'sign-in' | 'oauth',
    address: string | undefined,
    length: number,
    isKnown?: () => Promise<boolean>,
  ): Promise<NoRoom | undefined> {
    // Sealed, a text is a third longer.
    const bytes = Math.min(NETWORK.burst, Math.ceil((length * 4) / 3) + KEY_BYTES);
    const own = await this.limiter.take(`${door}:${siteGroup(address)}`, NETWORK, bytes);
    if (!own.isAllowed) return { isNetworks: true, retryAfterSeconds: own.retryAfterSeconds };
    const all = await this.limiter.take(`${door}:all`, ALL, bytes);
    if (!all.isAllowed) return { isNetworks: false, retryAfterSeconds: all.retryAfterSeconds };
    const isInUse = await this.redis.take(bytes);
    if (isInUse === undefined && (await isKnown?.()) !== true) {
      return { isNetworks: false, retryAfterSeconds: FULL_RETRY_SECONDS };
    }
    isInUse?.();
    return undefined;
  }

  /** {@link take} at the doors of the wallet's own. @throws WalletError */
  async assert(
    address: string | undefined,
    length: number,
    isKnown?: () => Promise<boolean>,
  ): Promise<void> {
    const noRoom = await this.take('sign-in', address, length, isKnown);
    if (noRoom === undefined) return;
    const { isNetworks, retryAfterSeconds } = noRoom;
    throw isNetworks
      ? new WalletError('rate_limited', 'Too many sign-ins were begun.', { retryAfterSeconds })
      : new WalletError('unavailable', 'Too many sign-ins are under way.', { retryAfterSeconds });
  }
}
