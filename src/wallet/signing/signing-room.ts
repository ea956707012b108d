import { Inject, Injectable } from '@nestjs/common';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { OWNERS_SHARE_MAX, RedisRoom } from '../../platform/redis/redis-room.js';
import { WalletError } from '../wallet-error.js';

/**
 * Room in the Redis of the wallet for the records of what is signed. Anybody may be an owner, and an agent may offer itself
 * a payment of any size as often as it likes.
 */
@Injectable()
export class SigningRoom extends RedisRoom {
  constructor(@Inject(WALLET_REDIS) redis: SharedRedis) {
    super(redis, OWNERS_SHARE_MAX);
  }

  /**
   * @param bytes - of the record as it is stored.
   * @throws WalletError `unavailable` where Redis is nearly full; nothing was signed then.
   */
  async assert(bytes: number): Promise<void> {
    if (await this.use(bytes)) return;
    throw new WalletError(
      'unavailable',
      'The Redis of this wallet service is nearly full, so the wallet signs nothing new. Try again later.',
    );
  }
}
