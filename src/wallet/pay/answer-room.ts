import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import type { Headroom } from '../../platform/concurrency/headroom.js';
import type { Rate, RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import { WalletLimiter } from '../accounts/new-wallets.js';
import { WalletRedisRoom } from '../anonymous-room.js';

const MIB = 1_048_576;
const MONTH_SECONDS = 30 * 86_400;
/** Bytes of answers for one wallet: so many at once, and as many again over a month. */
const WALLET: Rate = { requests: 64 * MIB, seconds: MONTH_SECONDS, burst: 64 * MIB };

/**
 * Counts the bytes of sellers' answers in the Redis of the wallet. Anybody may be an owner, and an agent may buy of its own
 * server at no cost.
 */
@Injectable()
export class AnswerRoom {
  constructor(
    @Inject(WalletLimiter) private readonly limiter: Pick<RateLimiter, 'take'>,
    @Inject(WalletRedisRoom) private readonly redis: Pick<Headroom, 'use'>,
  ) {}

  /**
   * @param length - bytes of the text before encryption.
   * @returns whether it may be stored; then the bytes are counted.
   */
  async take(wallet: Address, length: number): Promise<boolean> {
    // Encryption makes a text a third longer.
    const bytes = Math.ceil((length * 4) / 3);
    if (!(await this.redis.use(bytes))) return false;
    return (await this.limiter.take(`answers:${wallet}`, WALLET, bytes)).isAllowed;
  }
}
