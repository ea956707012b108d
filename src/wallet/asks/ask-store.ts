import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runScript } from '../../platform/redis/redis-scripts.js';
import { askKey, askOfIntentKey, asksOfKey } from '../wallet-keys.js';
import { type Ask, AskTexts, type CurrentAsk } from './ask.js';
import { ANSWER, ASK } from './ask-scripts.js';

/** Limit for one wallet, of requests that are open, or denied and not expired. */
export const ASKS_MAX = 20;
/** A closed request is kept for a day, so that its agent can read the result. */
const REMEMBERED_SECONDS = 86_400;

type AskResult = 'ok' | 'locked' | 'changed' | 'exists' | 'many';
export type AnswerResult = 'ok' | 'locked' | 'changed' | 'gone' | 'used' | 'denied';

const ASK_ID = /^[\w-]{22}$/;

/** How long a request is kept in Redis. @param now - Unix seconds. */
export function lifeOf(until: number, now: number): number {
  return Math.max(1, until - now + REMEMBERED_SECONDS);
}

/**
 * Questions to owners, in Redis. A loss of Redis loses open questions, which are then asked again;
 * answers are restored from the journal.
 *
 * @throws RedisUnavailableError from every method when Redis does not answer.
 */
@Injectable()
export class AskStore {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly texts: AskTexts,
  ) {}

  async find(id: string): Promise<CurrentAsk | undefined> {
    if (!ASK_ID.test(id)) return undefined;
    const text = await redisCall('wallet_ask', this.redis.get(askKey(id)));
    return text === null ? undefined : this.texts.read(id, text);
  }

  /** The request of an intent; its record may be gone already. */
  async idOf(wallet: Address, intentId: string): Promise<string | undefined> {
    const id = await redisCall('wallet_ask', this.redis.get(askOfIntentKey(wallet, intentId)));
    return id ?? undefined;
  }

  /** Requests that have not expired, the next to expire first. @param now - Unix seconds. */
  async open(wallet: Address, now: number): Promise<readonly CurrentAsk[]> {
    const ids = await redisCall(
      'wallet_ask',
      this.redis.zrangebyscore(asksOfKey(wallet), `(${now}`, '+inf', 'LIMIT', 0, ASKS_MAX),
    );
    const found = await Promise.all(ids.map((id) => this.find(id)));
    return found.flatMap((one) => one ?? []);
  }

  /** @param replaces - the id from {@link idOf}. @param now - Unix seconds. */
  async ask(ask: Ask, replaces: string | undefined, now: number): Promise<AskResult> {
    const { wallet, intentId, revision, id, until } = ask;
    const reply = await runScript(this.redis, ASK, [
      wallet,
      revision,
      askOfIntentKey(wallet, intentId),
      replaces ?? '',
      id,
      this.texts.write('waiting', ask),
      until,
      lifeOf(until, now),
      now,
      ASKS_MAX,
    ]);
    return String(reply) as AskResult;
  }

  /** The answer must be in the journal first. */
  async answer({ wallet, id, revision }: Ask, text: string, isYes: boolean): Promise<AnswerResult> {
    const args = [wallet, id, text, isYes ? revision : ''];
    return String(await runScript(this.redis, ANSWER, args)) as AnswerResult;
  }
}
