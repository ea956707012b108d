import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { RecordSeal } from '../seal/record-seal.js';
import { anchorKey } from '../wallet-keys.js';

/** Remembers outside the folder how long each file of the journal was. */
export interface JournalAnchor {
  /** Least lines of each file; what was forged is left out. */
  leastLines(): Promise<ReadonlyMap<string, number>>;
  /** Does not wait, and does not fail. */
  saw(name: string, lines: number): void;
  /** These are not in the folder any more, as it should be. */
  forget(names: readonly string[]): Promise<void>;
}

/**
 * The anchor in Redis: to cut off lines or to remove a file, an attacker has to change Redis, too.
 * Nothing depends on its being complete: a loss of Redis loses it.
 */
@Injectable()
export class RedisAnchor implements JournalAnchor {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
  ) {}

  async leastLines(): Promise<ReadonlyMap<string, number>> {
    const stored = await redisCall('wallet_witness', this.redis.hgetall(anchorKey()));
    const read = Object.entries(stored).flatMap(([name, sealed]): [string, number][] => {
      const lines = this.seal.open(contextOf(name), sealed);
      return lines === undefined ? [] : [[name, Number(lines)]];
    });
    return new Map(read);
  }

  saw(name: string, lines: number): void {
    const sealed = this.seal.seal(contextOf(name), String(lines));
    // A write that fails now is made good by the next one.
    this.redis.hset(anchorKey(), name, sealed).catch(() => undefined);
  }

  async forget(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await redisCall('wallet_witness', this.redis.hdel(anchorKey(), ...names));
  }
}

function contextOf(name: string): string {
  return `journal:${name}`;
}
