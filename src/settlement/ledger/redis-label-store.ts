import { Inject, Injectable } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runKeyedScript } from '../../platform/redis/redis-scripts.js';
import { labelKey } from './keys.js';
import { LABELLED_MAX, type LabelStore } from './label-store.js';
import { REQUESTER_SCRIPTS } from './requester-scripts.js';
import type { ClaimRef, LedgerLifetimes } from './settlement-store.js';

/** Labels in Redis. */
@Injectable()
export class RedisLabelStore implements LabelStore {
  constructor(
    @Inject(LEDGER_REDIS) private readonly redis: SharedRedis,
    @Inject(AppConfig) private readonly config: Pick<LedgerLifetimes, 'retentionSeconds'>,
  ) {}

  async note(tag: string, { chainId, id }: ClaimRef): Promise<void> {
    await runKeyedScript(
      this.redis,
      REQUESTER_SCRIPTS.label,
      [labelKey(tag)],
      [`${chainId}:${id}`, LABELLED_MAX, this.config.retentionSeconds],
    );
  }

  async of(tag: string): Promise<readonly ClaimRef[]> {
    const members = await redisCall('labelled', this.redis.zrevrange(labelKey(tag), 0, -1));
    return members.map((member) => {
      const colon = member.indexOf(':');
      return { chainId: Number(member.slice(0, colon)), id: member.slice(colon + 1) };
    });
  }
}
