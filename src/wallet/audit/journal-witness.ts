import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { RecordSeal } from '../seal/record-seal.js';
import { witnessKey } from '../wallet-keys.js';

/** Remembers outside the folder how long each file of the journal was. */
export interface JournalWitness {
  /** Least lines of each file; what was forged is left out. */
  leastLines(): Promise<ReadonlyMap<string, number>>;
  /** Does not wait, and does not fail. */
  saw(name: string, lines: number): void;
  /** These are not in the folder any more, as it should be. */
  forget(names: readonly string[]): Promise<void>;
}

/**
 * The witness in Redis: who cuts lines off a file's end, or takes a file away, has to change Redis, too.
 * Nothing depends on its being complete: a loss of Redis loses it.
 */
@Injectable()
export class RedisWitness implements JournalWitness {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
  ) {}

  async leastLines(): Promise<ReadonlyMap<string, number>> {
    const stored = await redisCall('wallet_witness', this.redis.hgetall(witnessKey()));
    const read = Object.entries(stored).flatMap(([name, sealed]): [string, number][] => {
      const lines = this.seal.open(contextOf(name), sealed);
      return lines === undefined ? [] : [[name, Number(lines)]];
    });
    return new Map(read);
  }

  saw(name: string, lines: number): void {
    const sealed = this.seal.seal(contextOf(name), String(lines));
    // A write that fails now is made good by the next one.
    this.redis.hset(witnessKey(), name, sealed).catch(() => undefined);
  }

  async forget(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    await redisCall('wallet_witness', this.redis.hdel(witnessKey(), ...names));
  }
}

function contextOf(name: string): string {
  return `journal:${name}`;
}
