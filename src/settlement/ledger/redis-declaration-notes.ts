import { Injectable, Optional } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { redisCall, runKeyedScript } from '../../platform/redis/redis-scripts.js';
import {
  type DeclarationNotes,
  NOTED_CHARACTERS_MAX,
  NOTED_CLAIMS_MAX,
  type NotedClaim,
  type NotedContent,
} from './declaration-notes.js';
import { declarationKeys } from './keys.js';
import { loadScript } from './script-files.js';
import type { ClaimRef } from './settlement-store.js';

const NOTE = loadScript('note_declaration');
const FORGET = loadScript('forget_declarations');

/** {@link DeclarationNotes} in Redis. */
@Injectable()
export class RedisDeclarationNotes implements DeclarationNotes {
  constructor(
    private readonly ledger: LedgerConnections,
    @Optional()
    private readonly most = { claims: NOTED_CLAIMS_MAX, characters: NOTED_CHARACTERS_MAX },
  ) {}

  async note({ chainId, id }: ClaimRef, { tag, content }: NotedContent): Promise<boolean> {
    const { claims, characters } = this.most;
    const args = [id, tag, content, claims, characters];
    return (await runKeyedScript(this.#redisOf(chainId), NOTE, keysOf(chainId), args)) === 1;
  }

  async read(
    chainId: number,
    after: string | undefined,
    most: number,
  ): Promise<readonly NotedClaim[]> {
    const [notes = ''] = keysOf(chainId);
    const from = after === undefined ? '-' : `(${after}`;
    const found = await redisCall(
      'declarations',
      this.#redisOf(chainId).xrange(notes, from, '+', 'COUNT', most),
    );
    return found.map(([entry, [, settlementId = '', , tag = '']]) => ({
      entry,
      settlementId,
      tag,
    }));
  }

  async contents(chainId: number, tags: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (tags.length === 0) return new Map();
    const [, contents = ''] = keysOf(chainId);
    const found = await redisCall(
      'declared contents',
      this.#redisOf(chainId).hmget(contents, ...tags),
    );
    return new Map(
      tags.flatMap((tag, index) => {
        const content = found[index];
        return typeof content === 'string' ? [[tag, content] as const] : [];
      }),
    );
  }

  async forget(chainId: number, claims: readonly NotedClaim[]): Promise<void> {
    if (claims.length === 0) return;
    const args = claims.flatMap(({ entry, tag }) => [entry, tag]);
    await runKeyedScript(this.#redisOf(chainId), FORGET, keysOf(chainId), args);
  }

  #redisOf(chainId: number): Redis {
    return this.ledger.of(chainId);
  }
}

const keysOf = (chainId: number): readonly string[] => declarationKeys(chainId);
