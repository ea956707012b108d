import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { z } from 'zod';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runScript, script } from '../../platform/redis/redis-scripts.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { RecordSeal } from '../seal/record-seal.js';
import { WalletError } from '../wallet-error.js';
import { codeKey } from '../wallet-keys.js';

const LIFE_SECONDS = 600;
/** Without vowels and look-alikes (RFC 8628, section 6.1): 20^12 codes, of which a few live at a time. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const USER_CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{4}(-[BCDFGHJKLMNPQRSTVWXZ]{4}){2}$/;
const SECRET_BYTES = 32;
const SECRET = /^[\w-]{43}$/;

const StoredCode = z.object({
  v: z.literal(2),
  state: z.enum(['pending', 'approved', 'collected']),
  /** SHA-256 of the agent's secret, so that a reader of Redis cannot collect the token. */
  secret: z.string(),
  owner: z.string().optional(),
  /** The number of token revocations of the owner's wallet at the approval. */
  epoch: z.int().optional(),
});
type StoredCode = z.infer<typeof StoredCode>;

/** ARGV: key, the value it must have, new value. The life stays. */
const MOVE = script(
  'wallet_code_move',
  `if redis.call('GET', ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('SET', ARGV[1], ARGV[3], 'KEEPTTL')
return 1`,
);

interface DeviceCode {
  /** The agent's secret: it collects the token. */
  readonly deviceCode: string;
  /** For the owner: in the link, on the page and in the signed message. It collects nothing. */
  readonly userCode: string;
}

type CodeStatus =
  { readonly state: 'pending' | 'collected' } | ({ readonly state: 'approved' } & Approval);

interface Approval {
  readonly owner: Address;
  /** The epoch at the approval: a revocation since then also voids the collected token. */
  readonly epoch: number;
}

/** An approval with its code. */
interface CollectedApproval extends Approval {
  readonly userCode: string;
}

interface Read {
  /** As stored. */
  readonly sealed: string;
  readonly stored: StoredCode;
}

/**
 * Sign-in for agents without a browser (RFC 8628): the agent shows a link, and the owner approves there. The link alone
 * does not give the agent's token, even if it leaks through a chat or a proxy's log. Stored approvals are sealed, so
 * only a wallet process can make one.
 */
@Injectable()
export class DeviceCodes {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
  ) {}

  async create(): Promise<DeviceCode> {
    const userCode = [4, 4, 4].map(letters).join('-');
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const value = this.#seal(userCode, pendingOf(secret));
    await redisCall('wallet_code', this.redis.set(codeKey(userCode), value, 'EX', LIFE_SECONDS));
    return { userCode, deviceCode: `${userCode}.${secret}` };
  }

  /**
   * For the owner's page.
   *
   * @throws WalletError `not_found` for unknown and for expired codes alike; `conflict` when it was answered already.
   */
  async assertPending(userCode: string): Promise<void> {
    await this.#pending(userCode);
  }

  /** @throws WalletError as {@link assertPending}, also when another approval was first. */
  async approve(userCode: string, approval: Approval): Promise<void> {
    const { sealed, stored } = await this.#pending(userCode);
    const approved: StoredCode = { ...stored, state: 'approved', ...approval };
    if (!(await this.#move(userCode, sealed, approved))) throw answered();
  }

  /** For the agent that began. @throws WalletError `not_found`. */
  async status(deviceCode: string): Promise<CodeStatus> {
    return statusOf((await this.#ofAgent(deviceCode)).stored);
  }

  /** The owner that approved, with the time. Of several concurrent requests only one gets it. */
  async collect(deviceCode: string): Promise<CollectedApproval | undefined> {
    const { userCode, sealed, stored } = await this.#ofAgent(deviceCode);
    const status = statusOf(stored);
    if (status.state !== 'approved') return undefined;
    const isMine = await this.#move(userCode, sealed, { ...stored, state: 'collected' });
    return isMine ? { ...status, userCode } : undefined;
  }

  async #pending(userCode: string): Promise<Read> {
    const read = await this.#read(userCode);
    if (read.stored.state !== 'pending') throw answered();
    return read;
  }

  async #ofAgent(deviceCode: string): Promise<Read & { readonly userCode: string }> {
    const [userCode = '', secret = ''] = deviceCode.split('.');
    if (!SECRET.test(secret)) throw notFound();
    const read = await this.#read(userCode);
    const [given, expected] = [hashOf(secret), Buffer.from(read.stored.secret, 'base64url')];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw notFound();
    return { ...read, userCode };
  }

  async #read(userCode: string): Promise<Read> {
    if (!USER_CODE.test(userCode)) throw notFound();
    const sealed = await redisCall('wallet_code', this.redis.get(codeKey(userCode)));
    const text = sealed === null ? undefined : this.seal.open(contextOf(userCode), sealed);
    if (sealed === null || text === undefined) throw notFound();
    return { sealed, stored: StoredCode.parse(JSON.parse(text)) };
  }

  async #move(userCode: string, from: string, to: StoredCode): Promise<boolean> {
    const args = [codeKey(userCode), from, this.#seal(userCode, to)];
    return (await runScript(this.redis, MOVE, args)) === 1;
  }

  #seal(userCode: string, stored: StoredCode): string {
    return this.seal.seal(contextOf(userCode), JSON.stringify(stored));
  }
}

function contextOf(userCode: string): string {
  return `code:${userCode}`;
}

function letters(count: number): string {
  return Array.from({ length: count }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}

function pendingOf(secret: string): StoredCode {
  return { v: 2, state: 'pending', secret: hashOf(secret).toString('base64url') };
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function statusOf({ state, owner, epoch = 0 }: StoredCode): CodeStatus {
  if (state !== 'approved') return { state };
  const address = readAddress(owner);
  if (address === undefined) throw notFound();
  return { state, owner: address, epoch };
}

function notFound(): WalletError {
  return new WalletError('not_found', 'This code does not exist, or it has expired.');
}

function answered(): WalletError {
  return new WalletError('conflict', 'This code is already approved or denied.');
}
