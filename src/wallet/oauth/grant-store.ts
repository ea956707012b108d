import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runScript, script } from '../../platform/redis/redis-scripts.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { RecordSeal } from '../seal/record-seal.js';
import { WalletError } from '../wallet-error.js';
import { grantKey, grantsOfKey, tagOf } from '../wallet-keys.js';
import { WALLET_CLOCK, type WalletClock } from '../wallet-tokens.js';

/** Limit for one owner: more clients than a person has, each approved by a signature. */
const GRANTS_MAX = 50;

const StoredGrant = z.object({
  v: z.literal(1),
  id: z.string(),
  owner: z.string().transform((text, context) => {
    const address = readAddress(text);
    if (address !== undefined) return address;
    context.addIssue('is not an address');
    return z.NEVER;
  }),
  clientId: z.string(),
  /** The client's own name, made safe to show. It is not verified. */
  clientName: z.string(),
  /** The host that receives its codes and so gets access. */
  redirectHost: z.string(),
  scopes: z.array(z.string()),
  /** The number of token revocations of the wallet when this grant was given. */
  epoch: z.int(),
  /** Unix seconds. */
  createdAt: z.int(),
  /** Unix seconds. */
  expiresAt: z.int(),
});

/** The permission that an owner gave to a client. Its tokens are valid while it exists. */
export type Grant = Readonly<Omit<z.output<typeof StoredGrant>, 'v'>>;

/** ARGV: key of the owner's list, key of the grant, tag, record, its end and now in seconds, most in a list. */
const KEEP = script(
  'wallet_grant_keep',
  `redis.call('ZREMRANGEBYSCORE', ARGV[1], '-inf', ARGV[6])
if redis.call('ZCARD', ARGV[1]) >= tonumber(ARGV[7]) then return 0 end
redis.call('ZADD', ARGV[1], ARGV[5], ARGV[3])
local last = redis.call('ZRANGE', ARGV[1], -1, -1, 'WITHSCORES')
redis.call('EXPIREAT', ARGV[1], last[2])
redis.call('SET', ARGV[2], ARGV[4], 'EXAT', ARGV[5])
return 1`,
);

/** The grants of all owners. A loss of Redis loses them, and clients sign in again. */
@Injectable()
export class GrantStore {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /** @throws WalletError `conflict` where the owner has too many. */
  async keep(grant: Grant): Promise<void> {
    const tag = tagOf(grant.id);
    const record = this.seal.seal(grantKey(tag), JSON.stringify({ v: 1, ...grant }));
    const kept = await runScript(this.redis, KEEP, [
      grantsOfKey(grant.owner),
      grantKey(tag),
      tag,
      record,
      grant.expiresAt,
      this.now(),
      GRANTS_MAX,
    ]);
    if (kept === 1) return;
    throw new WalletError(
      'conflict',
      'You have approved too many applications. Remove one of them first.',
    );
  }

  find(grantId: string): Promise<Grant | undefined> {
    return this.#read(tagOf(grantId));
  }

  /** Newest first. */
  async of(owner: string): Promise<readonly Grant[]> {
    const tags = await redisCall('wallet_grants', this.redis.zrange(grantsOfKey(owner), '0', '-1'));
    const found = await Promise.all(tags.map((tag) => this.#read(tag)));
    return found
      .flatMap((grant) => (grant?.owner === owner ? [grant] : []))
      .sort((one, other) => other.createdAt - one.createdAt);
  }

  async remove({ id, owner }: Grant): Promise<void> {
    const tag = tagOf(id);
    await redisCall('wallet_grant', this.redis.del(grantKey(tag)));
    await redisCall('wallet_grants', this.redis.zrem(grantsOfKey(owner), tag));
  }

  async #read(tag: string): Promise<Grant | undefined> {
    const sealed = await redisCall('wallet_grant', this.redis.get(grantKey(tag)));
    const text = sealed === null ? undefined : this.seal.open(grantKey(tag), sealed);
    if (text === undefined) return undefined;
    const grant = StoredGrant.parse(JSON.parse(text));
    return grant.expiresAt > this.now() ? grant : undefined;
  }
}
