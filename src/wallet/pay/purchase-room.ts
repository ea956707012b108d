import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import type { Rate, RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import { WalletLimiter } from '../accounts/new-wallets.js';
import { WalletError } from '../wallet-error.js';
import { WalletRedisRoom } from '../wallet-redis-room.js';

const MIB = 1_048_576;
const MONTH_SECONDS = 30 * 86_400;
/** Bytes of answers for one wallet: so many at once, and as many again over a month. */
const ANSWERS: Rate = { requests: 64 * MIB, seconds: MONTH_SECONDS, burst: 64 * MIB };
/**
 * Bytes of records for one wallet: 64 MiB at once, and 512 MiB more over a month. A usual record has two kilobytes, one
 * with the longest offer ten times as many, and the journal keeps each for good.
 */
const RECORDS: Rate = { requests: 512 * MIB, seconds: MONTH_SECONDS, burst: 64 * MIB };

/**
 * Counts the bytes of purchases in the Redis of the wallet and in the journal. Anybody may be an owner, and an agent may
 * buy of its own server at no cost.
 */
@Injectable()
export class PurchaseRoom {
  constructor(
    @Inject(WalletLimiter) private readonly limiter: Pick<RateLimiter, 'take'>,
    @Inject(WalletRedisRoom)
    private readonly redis: Pick<WalletRedisRoom, 'use' | 'assertForRecord'>,
  ) {}

  /**
   * @param length - bytes of an answer before encryption.
   * @returns whether it may be stored; then the bytes are counted.
   */
  async takeAnswer(wallet: Address, length: number): Promise<boolean> {
    // Encryption makes a text a third longer.
    const bytes = Math.ceil((length * 4) / 3);
    if (!(await this.redis.use(bytes))) return false;
    return (await this.limiter.take(`answers:${wallet}`, ANSWERS, bytes)).isAllowed;
  }

  /**
   * @param bytes - of a record as it is stored.
   * @throws WalletError `unavailable` where Redis is nearly full, `rate_limited` where this wallet has too many; nothing
   *   was charged then.
   */
  async assertRecord(wallet: Address, bytes: number): Promise<void> {
    await this.redis.assertForRecord(bytes);
    const verdict = await this.limiter.take(`records:${wallet}`, RECORDS, bytes);
    if (verdict.isAllowed) return;
    throw new WalletError(
      'rate_limited',
      'This wallet has used up its bytes for records of purchases. Try again later, or buy from sellers with shorter offers.',
      { retryAfterSeconds: verdict.retryAfterSeconds },
    );
  }
}
