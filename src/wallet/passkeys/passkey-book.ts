import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { redisCall, runKeyedScript, script } from '../../platform/redis/redis-scripts.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { PRELUDE } from '../budget/budget-scripts.js';
import type { RecordSeal } from '../seal/record-seal.js';
import { newPasskeyKey, passkeysKey, tagOf } from '../wallet-keys.js';
import { StoredPasskey } from './passkey.js';

/** Under which generation of Redis all that the journal has is in. */
const WHOLE = 'whole';

/** KEYS: passkeys. 1 when all is in under the generation there is: another one may have lost some. */
const IS_WHOLE = script(
  'wallet_passkeys_whole',
  PRELUDE +
    String.raw`
local own = redis.call('HGET', KEYS[1], 'whole')
return (own and own == generation()) and 1 or 0
`,
);

/** KEYS: passkeys. ARGV: owner, counter. 0 for one that does not go up: the key may have been copied. */
const COUNT = script(
  'wallet_passkey_count',
  `local field = 'n:' .. ARGV[1]
local last, now = tonumber(redis.call('HGET', KEYS[1], field) or '0'), tonumber(ARGV[2])
if now == 0 and last == 0 then return 1 end
if now <= last then return 0 end
redis.call('HSET', KEYS[1], field, ARGV[2])
return 1`,
);

/** KEYS: passkeys. ARGV: owner, tag of the credential, record, counter. A counter does not go back. */
const ADD = script(
  'wallet_passkey_add',
  `redis.call('HSET', KEYS[1], 'k:' .. ARGV[1], ARGV[3])
redis.call('HSETNX', KEYS[1], 'i:' .. ARGV[2], ARGV[1])
redis.call('HSETNX', KEYS[1], 'n:' .. ARGV[1], ARGV[4])
return 1`,
);

/**
 * The passkeys of owners, in Redis. The journal has them, too, but for how often each was used. One that was made and
 * not used yet is here alone, and not for long: anybody can make them.
 */
export class PasskeyBook {
  constructor(
    private readonly redis: Redis,
    private readonly seal: RecordSeal,
  ) {}

  async add(owner: Address, passkey: StoredPasskey): Promise<void> {
    const record = this.seal.seal(contextOf(owner), JSON.stringify(passkey));
    const args = [owner, tagOf(passkey.id), record, passkey.counter];
    await runKeyedScript(this.redis, ADD, [passkeysKey()], args);
  }

  /** Keeps one that was made, until its time is up. Who brought a key or a credential first has brought it. */
  async propose(owner: Address, passkey: StoredPasskey, seconds: number): Promise<void> {
    const key = newPasskeyKey(owner);
    const record = this.seal.seal(contextOf(owner), JSON.stringify(passkey));
    const set = (name: string, value: string): Promise<unknown> =>
      redisCall('wallet_passkeys', this.redis.set(name, value, 'EX', seconds, 'NX'));
    await set(key, record);
    await set(newPasskeyKey(tagOf(passkey.id)), owner);
  }

  /** One that was made and not used yet. */
  async proposed(owner: Address): Promise<StoredPasskey | undefined> {
    const key = newPasskeyKey(owner);
    return this.#open(owner, await redisCall('wallet_passkeys', this.redis.get(key)));
  }

  /**
   * @param all - every one of the journal.
   * @param generation - of Redis, named before the journal was read.
   */
  async restore(all: ReadonlyMap<string, StoredPasskey>, generation: string): Promise<void> {
    for (const [owner, passkey] of all) {
      const address = readAddress(owner);
      if (address !== undefined) await this.add(address, passkey);
    }
    await redisCall('wallet_passkeys', this.redis.hset(passkeysKey(), WHOLE, generation));
  }

  /** Whether what is not here is nowhere. */
  async isWhole(): Promise<boolean> {
    return (await runKeyedScript(this.redis, IS_WHOLE, [passkeysKey()], [])) === 1;
  }

  async of(owner: Address): Promise<StoredPasskey | undefined> {
    return this.#open(owner, await this.#read(`k:${owner}`));
  }

  #open(owner: Address, sealed: string | null): StoredPasskey | undefined {
    const text = sealed === null ? undefined : this.seal.open(contextOf(owner), sealed);
    return text === undefined ? undefined : StoredPasskey.parse(JSON.parse(text));
  }

  /** Whose a credential says to be. Whoever can write to Redis can say so, too: its key decides. */
  async ownerOf(credentialId: string): Promise<Address | undefined> {
    const tag = tagOf(credentialId);
    const known = readAddress(await this.#read(`i:${tag}`));
    if (known !== undefined) return known;
    return readAddress(await redisCall('wallet_passkeys', this.redis.get(newPasskeyKey(tag))));
  }

  /** @returns whether it went up, or the authenticator does not count. */
  async count(owner: Address, counter: number): Promise<boolean> {
    return (await runKeyedScript(this.redis, COUNT, [passkeysKey()], [owner, counter])) === 1;
  }

  #read(field: string): Promise<string | null> {
    return redisCall('wallet_passkeys', this.redis.hget(passkeysKey(), field));
  }
}

function contextOf(owner: Address): string {
  return `passkey:${owner}`;
}
