import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { AdapterPayload } from 'oidc-provider';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runScript, script } from '../../platform/redis/redis-scripts.js';
import { RecordSeal } from '../seal/record-seal.js';
import { oauthRecordKey } from '../wallet-keys.js';
import { WALLET_CLOCK, type WalletClock } from '../wallet-tokens.js';

/** Larger than any accepted request, which is bounded itself; nothing else is stored. */
const RECORD_MAX_CHARACTERS = 32_768;

/** ARGV: key, the value it must have, new value. The life stays. */
const MOVE = script(
  'wallet_oauth_move',
  `if redis.call('GET', ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('SET', ARGV[1], ARGV[3], 'KEEPTTL')
return 1`,
);

/** Records of one kind for the authorization server: codes, tokens and open requests. */
@Injectable()
export class OAuthRecords {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /**
   * @param id - for tokens and codes the secret itself. Only its hash is stored, so a reader of
   *   Redis gets no token.
   */
  async put(kind: string, id: string, payload: AdapterPayload, seconds: number): Promise<void> {
    const text = JSON.stringify({ ...payload, jti: undefined });
    if (text.length > RECORD_MAX_CHARACTERS) throw new RangeError('a record is too large');
    const key = oauthRecordKey(kind, id);
    const life = Math.max(1, seconds);
    await redisCall('wallet_oauth', this.redis.set(key, this.seal.seal(key, text), 'EX', life));
  }

  async find(kind: string, id: string): Promise<AdapterPayload | undefined> {
    return (await this.#read(kind, id))?.payload;
  }

  /** @returns the record for the first caller, who uses it up; `undefined` for all later ones. */
  async consume(kind: string, id: string): Promise<AdapterPayload | undefined> {
    const key = oauthRecordKey(kind, id);
    const read = await this.#read(kind, id);
    if (read === undefined || read.payload.consumed !== undefined) return undefined;
    const record = { ...read.payload, jti: undefined, consumed: this.now() };
    const used = this.seal.seal(key, JSON.stringify(record));
    const isFirst = (await runScript(this.redis, MOVE, [key, read.sealed, used])) === 1;
    return isFirst ? read.payload : undefined;
  }

  async remove(kind: string, id: string): Promise<void> {
    await redisCall('wallet_oauth', this.redis.del(oauthRecordKey(kind, id)));
  }

  async #read(
    kind: string,
    id: string,
  ): Promise<{ readonly sealed: string; readonly payload: AdapterPayload } | undefined> {
    const key = oauthRecordKey(kind, id);
    const sealed = await redisCall('wallet_oauth', this.redis.get(key));
    const text = sealed === null ? undefined : this.seal.open(key, sealed);
    if (sealed === null || text === undefined) return undefined;
    return { sealed, payload: { ...(JSON.parse(text) as AdapterPayload), jti: id } };
  }
}
