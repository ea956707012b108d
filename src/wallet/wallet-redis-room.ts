import { Inject, Injectable } from '@nestjs/common';
import type { SharedRedis } from '../platform/redis/ledger-connections.js';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import { OWNERS_SHARE_MAX, RedisRoom } from '../platform/redis/redis-room.js';
import { WalletError } from './wallet-error.js';

/**
 * Limits the memory in the Redis of the wallet. Data of strangers and answers of sellers end first, then records of what
 * is signed.
 */
@Injectable()
export class WalletRedisRoom extends RedisRoom {
  readonly #records: RedisRoom;

  constructor(@Inject(WALLET_REDIS) redis: SharedRedis) {
    super(redis);
    this.#records = new RedisRoom(redis, OWNERS_SHARE_MAX);
  }

  /**
   * Anybody may be an owner, and an agent may offer itself a payment of any size as often as it likes.
   *
   * @param bytes - of a record of what is signed, as it is stored.
   * @throws WalletError `unavailable` where Redis is nearly full; nothing was signed then.
   */
  async assertForRecord(bytes: number): Promise<void> {
    if (await this.#records.use(bytes)) return;
    throw new WalletError(
      'unavailable',
      'The Redis of this wallet service is nearly full, so the wallet signs nothing new. Try again later.',
    );
  }
}
