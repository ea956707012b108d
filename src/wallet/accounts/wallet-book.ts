import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { LedgerUnavailableError } from '../../core/errors.js';
import { ledgerCall, runScript, script } from '../../redis/redis-scripts.js';
import { type Policy, policyText, readPolicy } from '../rules/policy.js';
import { generationKey, walletKey } from '../wallet-keys.js';

/** ARGV: wallet key, revision it replaces, revision, policy. */
const SET_POLICY = script(
  'wallet_set_policy',
  `if redis.call('HGET', ARGV[1], 'rev') ~= ARGV[2] then return 0 end
redis.call('HSET', ARGV[1], 'rev', ARGV[3], 'policy', ARGV[4])
return 1`,
);

/** ARGV: wallet key, seconds. Never goes back. */
const VOID_TOKENS = script(
  'wallet_void_tokens',
  `if tonumber(ARGV[2]) > tonumber(redis.call('HGET', ARGV[1], 'nb') or '0') then
  redis.call('HSET', ARGV[1], 'nb', ARGV[2])
end
return 1`,
);

/** What Redis holds of each wallet besides its spendings. */
export class WalletBook {
  constructor(private readonly redis: Redis) {}

  /** The rules of a wallet; `undefined` while it is locked. */
  async policy(wallet: Address): Promise<Policy | undefined> {
    const [generation, fields] = await ledgerCall(
      'wallet_policy',
      Promise.all([
        this.redis.get(generationKey()),
        this.redis.hmget(walletKey(wallet), 'gen', 'rev', 'policy'),
      ]),
    );
    const [own, revision, text] = fields;
    if (generation === null || own !== generation || !revision || !text) return undefined;
    const read = readPolicy(JSON.parse(text), Number(revision));
    if (!read.ok) throw new LedgerUnavailableError('wallet_policy', new Error(read.problem));
    return read.policy;
  }

  /** @returns whether the rules were still those of the revision before. */
  async replacePolicy(wallet: Address, policy: Policy): Promise<boolean> {
    const text = JSON.stringify(policyText(policy));
    const { revision } = policy;
    const args = [walletKey(wallet), revision - 1, revision, text];
    return (await runScript(this.redis, SET_POLICY, args)) === 1;
  }

  /** Unix seconds; tokens issued before are void. */
  async tokensNotBefore(wallet: Address): Promise<number> {
    const seconds = await ledgerCall('wallet_tokens', this.redis.hget(walletKey(wallet), 'nb'));
    return Number(seconds ?? '0');
  }

  async voidTokensBefore(wallet: Address, seconds: number): Promise<void> {
    await runScript(this.redis, VOID_TOKENS, [walletKey(wallet), seconds]);
  }
}
