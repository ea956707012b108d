import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { z } from 'zod';
import { readAddress } from '../../core/payment/wire-values.js';
import { ledgerCall, runScript, script } from '../../redis/redis-scripts.js';
import { WalletError } from '../wallet-error.js';
import { codeKey } from '../wallet-keys.js';

const LIFE_SECONDS = 600;
/** 160 bits: cannot be guessed. */
const CODE = /^[\w-]{27}$/;

const StoredCode = z.object({
  v: z.literal(1),
  state: z.enum(['pending', 'approved', 'collected']),
  owner: z.string().optional(),
});

/** ARGV: key, state it must have (as its first letters), new value. The life stays. */
const MOVE = script(
  'wallet_code_move',
  `local now = redis.call('GET', ARGV[1])
if not now or string.find(now, ARGV[2], 1, true) == nil then return 0 end
redis.call('SET', ARGV[1], ARGV[3], 'KEEPTTL')
return 1`,
);

export type CodeStatus =
  | { readonly state: 'pending' | 'collected' }
  | { readonly state: 'approved'; readonly owner: Address };

/** Sign-in for agents that have no browser: the agent shows a link, the owner approves there. */
export class DeviceCodes {
  constructor(private readonly redis: Redis) {}

  async create(): Promise<string> {
    const code = randomBytes(20).toString('base64url');
    const value = write('pending');
    await ledgerCall('wallet_code', this.redis.set(codeKey(code), value, 'EX', LIFE_SECONDS));
    return code;
  }

  /** @throws WalletError `not_found`, for codes that never were and for codes that are over alike. */
  async status(code: string): Promise<CodeStatus> {
    if (!CODE.test(code)) throw notFound();
    const text = await ledgerCall('wallet_code', this.redis.get(codeKey(code)));
    if (text === null) throw notFound();
    const { state, owner } = StoredCode.parse(JSON.parse(text));
    if (state !== 'approved') return { state };
    const address = readAddress(owner);
    if (address === undefined) throw notFound();
    return { state, owner: address };
  }

  /** @throws WalletError `conflict` when somebody else was first. */
  async approve(code: string, owner: Address): Promise<void> {
    await this.status(code);
    if (!(await this.#move(code, 'pending', write('approved', owner)))) {
      throw new WalletError('conflict', 'This code was answered already.');
    }
  }

  /** Whether the approval is this caller's to collect: it is handed out once. */
  collect(code: string): Promise<boolean> {
    return this.#move(code, 'approved', write('collected'));
  }

  async #move(code: string, from: string, value: string): Promise<boolean> {
    return (await runScript(this.redis, MOVE, [codeKey(code), `"state":"${from}"`, value])) === 1;
  }
}

function write(state: z.infer<typeof StoredCode>['state'], owner?: Address): string {
  return JSON.stringify({ v: 1, state, owner });
}

function notFound(): WalletError {
  return new WalletError('not_found', 'There is no such code, or it is over.');
}
