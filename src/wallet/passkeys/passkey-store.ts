import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runKeyedScript, script } from '../../platform/redis/redis-scripts.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { PRELUDE } from '../budget/budget-scripts.js';
import { RecordSeal } from '../seal/record-seal.js';
import { generationKey, newPasskeyKey, passkeysKey, tagOf } from '../wallet-keys.js';
import { StoredPasskey } from './passkey.js';

/** The generation of Redis in which all passkeys of the journal were restored. */
const RESTORED_UNDER = 'whole';

/**
 * KEYS: passkeys, name of the generation. 1 when all passkeys are restored in the present generation; after a loss some
 * may be missing.
 */
const IS_RESTORED = script(
  'wallet_passkeys_whole',
  PRELUDE +
    String.raw`
local own = redis.call('HGET', KEYS[1], 'whole')
return (own and own == generation()) and 1 or 0
`,
);

/** KEYS: passkeys. ARGV: owner, counter. 0 for a counter that does not increase: the key may have been copied. */
const COUNT = script(
  'wallet_passkey_count',
  `local field = 'n:' .. ARGV[1]
local last, now = tonumber(redis.call('HGET', KEYS[1], field) or '0'), tonumber(ARGV[2])
if now == 0 and last == 0 then return 1 end
if now <= last then return 0 end
redis.call('HSET', KEYS[1], field, ARGV[2])
return 1`,
);

/**
 * KEYS: passkeys, owner of the credential while it is new, passkey while it is new. ARGV: owner,
 * tag of the credential, record, life in seconds. 0 where the credential belongs to another owner.
 */
const PROPOSE = script(
  'wallet_passkey_propose',
  `local bound = redis.call('HGET', KEYS[1], 'i:' .. ARGV[2]) or redis.call('GET', KEYS[2])
if bound and bound ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'EX', ARGV[4])
redis.call('SET', KEYS[3], ARGV[3], 'EX', ARGV[4])
return 1`,
);

/**
 * KEYS: passkeys. ARGV: owner, tag of the credential, record, counter. 0 where the credential
 * belongs to another owner. A stored passkey counts as missing in the journal until that is
 * confirmed.
 */
const KEEP = script(
  'wallet_passkey_keep',
  `local bound = redis.call('HGET', KEYS[1], 'i:' .. ARGV[2])
if bound and bound ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'i:' .. ARGV[2], ARGV[1])
redis.call('HSETNX', KEYS[1], 'n:' .. ARGV[1], ARGV[4])
if redis.call('HSETNX', KEYS[1], 'k:' .. ARGV[1], ARGV[3]) == 1 then redis.call('HSET', KEYS[1], 'u:' .. ARGV[1], '1') end
return 1`,
);

/** KEYS: passkeys. ARGV: owner, tag of the credential, record, counter: of the journal. A counter does not go back. */
const ADD = script(
  'wallet_passkey_add',
  `redis.call('HSET', KEYS[1], 'k:' .. ARGV[1], ARGV[3])
redis.call('HSETNX', KEYS[1], 'i:' .. ARGV[2], ARGV[1])
redis.call('HSETNX', KEYS[1], 'n:' .. ARGV[1], ARGV[4])
redis.call('HDEL', KEYS[1], 'u:' .. ARGV[1])
return 1`,
);

/** A passkey that has signed something. */
export interface KnownPasskey {
  readonly passkey: StoredPasskey;
  /** Whether the journal has it, as far as this store knows. */
  readonly isJournaled: boolean;
}

/**
 * The passkeys of owners, in Redis. The journal has them too, without their counters. A new passkey that was not used
 * yet is only here, and only for a short time, because anybody can make them.
 */
@Injectable()
export class PasskeyStore {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
  ) {}

  /**
   * Stores a new passkey for a limited time. It is found by owner and by credential, so that no caller can replace
   * another owner's credential.
   *
   * @returns whether the credential belongs to this owner; false where it belongs, or will belong, to another one.
   */
  async propose(owner: Address, passkey: StoredPasskey, seconds: number): Promise<boolean> {
    const tag = tagOf(passkey.id);
    const record = this.seal.seal(contextOf(owner), JSON.stringify(passkey));
    const keys = [passkeysKey(), newPasskeyKey(tag), newPasskeyKey(`${owner}:${tag}`)];
    return (await runKeyedScript(this.redis, PROPOSE, keys, [owner, tag, record, seconds])) === 1;
  }

  /** A new passkey that was not used yet. */
  async proposed(owner: Address, credentialId: string): Promise<StoredPasskey | undefined> {
    const key = newPasskeyKey(`${owner}:${tagOf(credentialId)}`);
    return this.#open(owner, await redisCall('wallet_passkeys', this.redis.get(key)));
  }

  /** Stores it permanently; the journal must record it next. @returns whether the credential belongs to this owner. */
  async keep(owner: Address, passkey: StoredPasskey): Promise<boolean> {
    const args = this.#argsOf(owner, passkey);
    return (await runKeyedScript(this.redis, KEEP, [passkeysKey()], args)) === 1;
  }

  /** Notes that the journal has it. */
  async noteJournaled(owner: Address): Promise<void> {
    await redisCall('wallet_passkeys', this.redis.hdel(passkeysKey(), `u:${owner}`));
  }

  /**
   * @param all - every passkey of the journal.
   * @param generation - of Redis, named before the journal was read.
   */
  async restore(all: ReadonlyMap<string, StoredPasskey>, generation: string): Promise<void> {
    for (const [owner, passkey] of all) {
      const address = readAddress(owner);
      if (address === undefined) continue;
      await runKeyedScript(this.redis, ADD, [passkeysKey()], this.#argsOf(address, passkey));
    }
    await redisCall('wallet_passkeys', this.redis.hset(passkeysKey(), RESTORED_UNDER, generation));
  }

  /** Whether a passkey that is missing here does not exist. */
  async isRestored(): Promise<boolean> {
    const keys = [passkeysKey(), generationKey()];
    return (await runKeyedScript(this.redis, IS_RESTORED, keys, [])) === 1;
  }

  async of(owner: Address): Promise<KnownPasskey | undefined> {
    const fields = [`k:${owner}`, `u:${owner}`] as const;
    const read = this.redis.hmget(passkeysKey(), ...fields);
    const [sealed = null, unnoted] = await redisCall('wallet_passkeys', read);
    const passkey = this.#open(owner, sealed);
    return passkey && { passkey, isJournaled: unnoted === null };
  }

  #open(owner: Address, sealed: string | null): StoredPasskey | undefined {
    const text = sealed === null ? undefined : this.seal.open(contextOf(owner), sealed);
    return text === undefined ? undefined : StoredPasskey.parse(JSON.parse(text));
  }

  /** The owner that a credential names. A writer of Redis can change it, so the credential's key decides. */
  async ownerOf(credentialId: string): Promise<Address | undefined> {
    const tag = tagOf(credentialId);
    const known = readAddress(await this.#read(`i:${tag}`));
    if (known !== undefined) return known;
    return readAddress(await redisCall('wallet_passkeys', this.redis.get(newPasskeyKey(tag))));
  }

  /** @returns whether the counter increased, or the authenticator does not count. */
  async count(owner: Address, counter: number): Promise<boolean> {
    return (await runKeyedScript(this.redis, COUNT, [passkeysKey()], [owner, counter])) === 1;
  }

  #argsOf(owner: Address, passkey: StoredPasskey): (string | number)[] {
    const record = this.seal.seal(contextOf(owner), JSON.stringify(passkey));
    return [owner, tagOf(passkey.id), record, passkey.counter];
  }

  #read(field: string): Promise<string | null> {
    return redisCall('wallet_passkeys', this.redis.hget(passkeysKey(), field));
  }
}

function contextOf(owner: Address): string {
  return `passkey:${owner}`;
}
