import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { redisCall, runKeyedScript, script } from '../../platform/redis/redis-scripts.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import type { RecordSeal } from '../seal/record-seal.js';
import { passkeysKey, tagOf } from '../wallet-keys.js';
import { StoredPasskey } from './passkey.js';

/** Whether all that the journal has is in. */
const WHOLE = 'whole';

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

/** The passkeys of owners, in Redis. The journal has them, too, but for how often each was used. */
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

  /** @param all - every one of the journal. */
  async restore(all: ReadonlyMap<string, StoredPasskey>): Promise<void> {
    for (const [owner, passkey] of all) {
      const address = readAddress(owner);
      if (address !== undefined) await this.add(address, passkey);
    }
    await redisCall('wallet_passkeys', this.redis.hset(passkeysKey(), WHOLE, '1'));
  }

  /** Whether what is not here is nowhere. */
  async isWhole(): Promise<boolean> {
    return (await redisCall('wallet_passkeys', this.redis.hexists(passkeysKey(), WHOLE))) === 1;
  }

  async of(owner: Address): Promise<StoredPasskey | undefined> {
    const sealed = await this.#read(`k:${owner}`);
    const text = sealed === null ? undefined : this.seal.open(contextOf(owner), sealed);
    return text === undefined ? undefined : StoredPasskey.parse(JSON.parse(text));
  }

  /** Whose a credential says to be. Whoever can write to Redis can say so, too: its key decides. */
  async ownerOf(credentialId: string): Promise<Address | undefined> {
    return readAddress(await this.#read(`i:${tagOf(credentialId)}`));
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
