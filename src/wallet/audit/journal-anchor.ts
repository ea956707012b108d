import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { RecordSeal } from '../seal/record-seal.js';
import { anchorKey } from '../wallet-keys.js';

/** Stores the length of each journal file outside the folder. */
export interface JournalAnchor {
  /** The known number of lines of each file; forged entries are ignored. */
  leastLines(): Promise<ReadonlyMap<string, number>>;
  /** Does not block, and never fails. */
  saw(name: string, lines: number): void;
  /** Removes the entries of files that were archived. */
  forget(names: readonly string[]): Promise<void>;
}

/**
 * The anchor in Redis. An attacker who cuts off lines or removes a file has to change Redis too. The journal does not
 * depend on it: a loss of Redis loses it.
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
    // The next write replaces a failed one.
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
