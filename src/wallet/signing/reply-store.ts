import { createHash, randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { z } from 'zod';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { RedisLock } from '../redis-lock.js';
import { RecordSeal } from '../seal/record-seal.js';
import { WalletError } from '../wallet-error.js';
import { replyKey, tagOf } from '../wallet-keys.js';
import { WalletRedisRoom } from '../wallet-redis-room.js';

const LIFE_SECONDS = 86_400;
const KEY_MAX_CHARACTERS = 256;
/** Of a key with the longest reply, a signature. */
const REPLY_BYTES = 1024;

const StoredReply = z.object({
  v: z.literal(1),
  request: z.string(),
  reply: z.record(z.string(), z.unknown()).optional(),
});

export type RpcReply = Readonly<Record<string, unknown>>;

/** Answers one idempotency key once: the same key and request get the first reply again. */
@Injectable()
export class ReplyStore {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly locks: RedisLock,
    private readonly seal: RecordSeal,
    private readonly room: WalletRedisRoom,
  ) {}

  /**
   * @param task - gets a key for the provider, the same for every attempt under this key.
   * @throws WalletError `conflict` when the key came with another request before; `unavailable` where there is no room.
   */
  async once(
    wallet: Address,
    key: string | undefined,
    request: unknown,
    task: (providerKey: string) => Promise<RpcReply>,
  ): Promise<RpcReply> {
    if (key === undefined) return task(randomUUID());
    if (key.length > KEY_MAX_CHARACTERS) {
      throw new WalletError(
        'invalid_request',
        'The idempotency key is longer than 256 characters.',
      );
    }
    const place = replyKey(wallet, key);
    const digest = createHash('sha256').update(JSON.stringify(request)).digest('base64url');
    return this.locks.hold(`reply:${place}`, async () => {
      const stored = await this.#read(place);
      if (stored !== undefined && stored.request !== digest) {
        throw new WalletError(
          'conflict',
          'This idempotency key was used for another request before.',
        );
      }
      if (stored?.reply !== undefined) return stored.reply;
      if (stored === undefined) await this.room.assertForRecord(REPLY_BYTES);
      await this.#write(place, { v: 1, request: digest });
      const reply = await task(`${wallet}-${tagOf(key)}`);
      await this.#write(place, { v: 1, request: digest, reply: { ...reply } });
      return reply;
    });
  }

  async #read(place: string): Promise<z.infer<typeof StoredReply> | undefined> {
    const sealed = await redisCall('wallet_reply', this.redis.get(place));
    // A reply that no wallet process has written is ignored.
    const text = sealed === null ? undefined : this.seal.open(place, sealed);
    return text === undefined ? undefined : StoredReply.parse(JSON.parse(text));
  }

  async #write(place: string, stored: z.infer<typeof StoredReply>): Promise<void> {
    const text = this.seal.seal(place, JSON.stringify(stored));
    await redisCall('wallet_reply', this.redis.set(place, text, 'EX', LIFE_SECONDS));
  }
}
