import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { z } from 'zod';
import { AppConfig } from '../../platform/config/app-config.js';
import type { FetchRequest } from '../../platform/fetch/safe-fetch.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runKeyedScript, script } from '../../platform/redis/redis-scripts.js';
import { StoredSpending } from '../budget/due.js';
import type { ToolCall } from '../mcp-sellers/mcp-seller.js';
import { RecordSeal } from '../seal/record-seal.js';
import { WalletError } from '../wallet-error.js';
import { intentKey } from '../wallet-keys.js';

const Result = z.object({
  httpStatus: z.int(),
  contentType: z.string(),
  body: z.string(),
  encoding: z.enum(['utf8', 'base64']),
  isCutOff: z.boolean(),
});

/** The purchase, with the data to present the same payment again. */
const AcceptedOffer = z.object({
  x402Version: z.union([z.literal(1), z.literal(2)]),
  url: z.string(),
  method: z.string(),
  requirements: z.record(z.string(), z.unknown()),
  resource: z.unknown().optional(),
  extensions: z.unknown().optional(),
  spending: StoredSpending,
  symbol: z.string(),
  decimals: z.int(),
  /** The request whose approval it uses. */
  ask: z.string().optional(),
});

const Intent = z.object({
  v: z.literal(1),
  /**
   * `reserved`: the budget is charged, and the payment may have been signed and presented. `paid`: the seller has
   * answered as if it were paid; `isProven` or the chain says whether it is. `free`: the answer cost nothing.
   */
  state: z.enum(['reserved', 'paid', 'free']),
  /** Hash of the request. */
  request: z.string(),
  url: z.string(),
  /** An HTTP method, or the call of a tool. */
  method: z.string(),
  /** Unix seconds. */
  at: z.int(),
  deal: AcceptedOffer.optional(),
  /** For `reserved`: an answer that claims to be paid, which the chain has not shown yet. */
  result: Result.optional(),
  /** The purchase is saved at the hub: its name, its access token, and the stored file. */
  save: z
    .object({
      name: z.string(),
      access: z.string().optional(),
      file: z.object({ size: z.int(), sha256: z.string() }).optional(),
    })
    .optional(),
  /** For `paid`: a final block shows it, so it cannot be undone. */
  isProven: z.boolean().optional(),
  /** As the seller names it; for a proven payment, as the chain shows it. */
  transaction: z.string().optional(),
});

export type Intent = z.infer<typeof Intent>;
export type StoredIntent = z.input<typeof Intent>;
export type AcceptedOffer = z.infer<typeof AcceptedOffer>;
export type Result = z.infer<typeof Result>;

interface Asked extends FetchRequest {
  readonly save?: { readonly name: string } | undefined;
  readonly tool?: ToolCall | undefined;
}

/** The method of the request as shown and stored: an HTTP method, or the call of a tool. */
export function methodOf({ method, tool }: Asked): string {
  return tool === undefined ? method : `tools/call ${tool.name}`;
}

/** Covers all that reaches the seller, because another header may buy something else. */
export function requestDigest({ url, method, headers, body, save, tool }: Asked): string {
  const saved = save === undefined ? [] : ['hub', save.name];
  const called = tool === undefined ? [] : ['tool', tool.name, tool.arguments];
  const named = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const sent = named.length === 0 ? [] : ['headers', named];
  const asked = [method, url, body ?? '', ...saved, ...called, ...sent];
  return createHash('sha256').update(JSON.stringify(asked)).digest('base64url');
}

/** An intent, and its exact stored text. */
export interface StoredRecord {
  readonly intent: Intent;
  readonly record: string;
}

/** KEYS: intent. ARGV: the text it replaces, its own text, its life in seconds. 0 where another text is stored. */
export const SWAP_INTENT = script(
  'wallet_intent_swap',
  `local stored = redis.call('GET', KEYS[1])
if stored and stored ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1`,
);
/** Attempts when other writers change the record between read and write. */
const WRITE_TRIES = 5;

/**
 * Intents in Redis. The text begins with the number of charges of the intent, so that an ended payment differs from its
 * successor. The rest is sealed, because URLs hold secrets.
 */
@Injectable()
export class IntentStore {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'retentionSeconds'>,
  ) {}

  /** @throws WalletError `unavailable` for an intent that cannot be decrypted: it may have been paid. */
  async read(wallet: Address, id: string): Promise<StoredRecord | undefined> {
    const record = await redisCall('wallet_intent', this.redis.get(intentKey(wallet, id)));
    return record === null ? undefined : { intent: this.open(wallet, id, record), record };
  }

  /** The stored text of an intent. @param charged - its number of payments. */
  textOf(wallet: Address, id: string, intent: StoredIntent, charged: number): string {
    return `${charged}/${this.seal.seal(contextOf(wallet, id), JSON.stringify(intent))}`;
  }

  /**
   * Replaces the text that was read, or an earlier step of the same payment, but not a later step of another process.
   * An intent that Redis lost is written again.
   *
   * @param replaces - the text that was read; empty for none.
   * @returns whether it is stored.
   */
  async write(
    wallet: Address,
    id: string,
    intent: StoredIntent,
    replaces: string,
  ): Promise<boolean> {
    const text = this.textOf(wallet, id, intent, chargeCountOf(replaces));
    let before = replaces;
    for (let tries = 0; tries < WRITE_TRIES; tries += 1) {
      if (await this.#swap(intentKey(wallet, id), before, text)) return true;
      const there = await this.read(wallet, id);
      before = there?.record ?? '';
      if (there !== undefined && !isStepBefore(there, intent, replaces)) return false;
    }
    return false;
  }

  async #swap(key: string, before: string, after: string): Promise<boolean> {
    const args = [before, after, this.config.retentionSeconds];
    return (await runKeyedScript(this.redis, SWAP_INTENT, [key], args)) === 1;
  }

  private open(wallet: Address, id: string, record: string): Intent {
    const [, sealed = ''] = record.split('/');
    const text = this.seal.open(contextOf(wallet, id), sealed);
    if (text !== undefined) return Intent.parse(JSON.parse(text));
    throw new WalletError('unavailable', 'This intent was encrypted with another secret.');
  }
}

/** The same record under the newest key. */
export function renewIntent(seal: RecordSeal, wallet: string, id: string, record: string): string {
  const [charged = '', sealed = ''] = record.split('/');
  return `${charged}/${seal.renew(contextOf(wallet, id), sealed)}`;
}

/** The number of payments of an intent, from its stored text. */
export function chargeCountOf(record: string): number {
  return Number(/^(\d+)\//.exec(record)?.[1] ?? '0');
}

/** Whether the stored record is an earlier step of the same payment. */
function isStepBefore(there: StoredRecord, next: StoredIntent, replaces: string): boolean {
  const id = next.deal?.spending.id;
  return (
    id !== undefined &&
    there.intent.deal?.spending.id === id &&
    chargeCountOf(there.record) === chargeCountOf(replaces) &&
    stepOf(there.intent) < stepOf(next)
  );
}

/** The step that a purchase has reached. */
function stepOf({
  state,
  result,
  save,
  isProven,
}: Pick<Intent, 'state' | 'result' | 'save' | 'isProven'>): number {
  if (state === 'reserved') return result === undefined ? 0 : 1;
  return (save?.file === undefined ? 2 : 4) + (isProven === true ? 1 : 0);
}

function contextOf(wallet: string, id: string): string {
  return `intent:${wallet}:${id}`;
}
