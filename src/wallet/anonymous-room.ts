import { Inject, Injectable } from '@nestjs/common';
import type { Headroom } from '../platform/concurrency/headroom.js';
import { siteGroup } from '../platform/rate-limit/address-group.js';
import { type Rate, RateLimiter } from '../platform/rate-limit/rate-limiter.js';
import type { SharedRedis } from '../platform/redis/ledger-connections.js';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import { WalletError } from './wallet-error.js';
import { WalletRedisRoom } from './wallet-redis-room.js';

const KIB = 1024;
const MINUTE_SECONDS = 60;
/** Bytes for one network: about four hundred sign-ins by OAuth at once, and two dozen a minute. */
const NETWORK: Rate = { requests: 128 * KIB, seconds: MINUTE_SECONDS, burst: 2048 * KIB };
/** Bytes for all networks together. Records that live for ten minutes never exceed 56 MiB. */
const ALL: Rate = { requests: 4096 * KIB, seconds: MINUTE_SECONDS, burst: 16_384 * KIB };
const FULL_RETRY_SECONDS = 60;
/** The memory overhead of a key in Redis, in addition to name and value. */
const KEY_BYTES = 150;

/** Characters of the message that an owner signs for a code or a client's request; it is stored with them. */
export const ANSWER_CHARACTERS = 1200;

/** The limit that was reached: that of a network, or that of all together. */
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

/**
 * Counts the bytes that strangers store in Redis before an owner has signed anything, so that they cannot fill the
 * Redis that payments and approvals need.
 */
@Injectable()
export class AnonymousRoom {
  constructor(
    @Inject(AnonymousLimiter) private readonly limiter: Pick<RateLimiter, 'take'>,
    @Inject(WalletRedisRoom) private readonly redis: Pick<Headroom, 'use'>,
  ) {}

  /**
   * @param door - the entry point; each has its own limit.
   * @param length - bytes of the stored text before encryption.
   * @param isKnown - whether the caller is an owner with a wallet. Called only when the limit is reached, because such
   *   an owner may exceed it.
   * @returns `undefined` after the bytes were reserved.
   */
  async take(
    door: 'sign-in' | 'oauth',
    address: string | undefined,
    length: number,
    isKnown?: () => Promise<boolean>,
  ): Promise<NoRoom | undefined> {
    // Encryption makes a text a third longer.
    const bytes = Math.min(NETWORK.burst, Math.ceil((length * 4) / 3) + KEY_BYTES);
    const own = await this.limiter.take(`${door}:${siteGroup(address)}`, NETWORK, bytes);
    if (!own.isAllowed) return { isNetworks: true, retryAfterSeconds: own.retryAfterSeconds };
    const all = await this.limiter.take(`${door}:all`, ALL, bytes);
    if (!all.isAllowed) return { isNetworks: false, retryAfterSeconds: all.retryAfterSeconds };
    if ((await this.redis.use(bytes)) || (await isKnown?.()) === true) return undefined;
    return { isNetworks: false, retryAfterSeconds: FULL_RETRY_SECONDS };
  }

  /** {@link take} for the wallet's own entry points. @throws WalletError */
  async assert(
    address: string | undefined,
    length: number,
    isKnown?: () => Promise<boolean>,
  ): Promise<void> {
    const noRoom = await this.take('sign-in', address, length, isKnown);
    if (noRoom === undefined) return;
    const { isNetworks, retryAfterSeconds } = noRoom;
    throw isNetworks
      ? new WalletError(
          'rate_limited',
          'Too many sign-ins were started from your network. Try again later.',
          {
            retryAfterSeconds,
          },
        )
      : new WalletError('unavailable', 'Too many sign-ins are in progress. Try again later.', {
          retryAfterSeconds,
        });
  }
}
