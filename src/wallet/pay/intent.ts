import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { z } from 'zod';
import { ledgerCall } from '../../redis/redis-scripts.js';
import { StoredSpending } from '../budget/due.js';
import { intentKey } from '../wallet-keys.js';
import type { FetchRequest } from './safe-fetch.js';

const Result = z.object({
  httpStatus: z.int(),
  contentType: z.string(),
  body: z.string(),
  encoding: z.enum(['utf8', 'base64']),
  isCutOff: z.boolean(),
});

/** What is being bought, and what a resumed purchase needs to present the very same payment. */
const Deal = z.object({
  x402Version: z.union([z.literal(1), z.literal(2)]),
  url: z.string(),
  method: z.string(),
  requirements: z.record(z.string(), z.unknown()),
  resource: z.unknown().optional(),
  extensions: z.unknown().optional(),
  spending: StoredSpending,
  symbol: z.string(),
  decimals: z.int(),
});

const Intent = z.object({
  v: z.literal(1),
  /**
   * `reserved`: the budget is charged, and the payment may have been signed and presented.
   * `paid`: it was answered for. `free`: the answer cost nothing.
   */
  state: z.enum(['reserved', 'paid', 'free']),
  /** Hash of what was asked for. */
  request: z.string(),
  url: z.string(),
  method: z.string(),
  /** Unix seconds. */
  at: z.int(),
  deal: Deal.optional(),
  result: Result.optional(),
  /** Of the seller's receipt or the chain. */
  transaction: z.string().optional(),
});

export type Intent = z.infer<typeof Intent>;
export type StoredIntent = z.input<typeof Intent>;
export type Deal = z.infer<typeof Deal>;
export type Result = z.infer<typeof Result>;

export function requestDigest({ url, method, body }: FetchRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([method, url, body ?? '']))
    .digest('base64url');
}

/** Intents in Redis, each with the exact text it is stored as. */
export class IntentStore {
  constructor(
    private readonly redis: Redis,
    private readonly lifeSeconds: number,
  ) {}

  async read(
    wallet: Address,
    id: string,
  ): Promise<{ readonly intent: Intent; readonly record: string } | undefined> {
    const record = await ledgerCall('wallet_intent', this.redis.get(intentKey(wallet, id)));
    return record === null ? undefined : { intent: Intent.parse(JSON.parse(record)), record };
  }

  async write(wallet: Address, id: string, intent: StoredIntent): Promise<void> {
    const key = intentKey(wallet, id);
    const text = JSON.stringify(intent);
    await ledgerCall('wallet_intent', this.redis.set(key, text, 'EX', this.lifeSeconds));
  }
}
