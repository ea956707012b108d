import type { Redis } from 'ioredis';
import type { Address, Hex } from 'viem';
import { redisCall, type ScriptReply } from '../../../platform/redis/redis-scripts.js';
import type { LedgerEpochs } from '../epoch.js';
import * as keys from '../keys.js';
import { LedgerScripts } from '../ledger-scripts.js';
import { encodeHash, parseDetails, readDetails, readRecord } from '../record.js';
import { asList, asPairs, asText } from '../reply.js';
import { loadScript } from '../script-files.js';
import type { Settlement, SettlementQueries } from './settlement-queries.js';

const SCRIPTS = { byId: loadScript('story'), claimsOf: loadScript('claims_of') };

/** {@link SettlementQueries} in Redis. */
export class RedisSettlementQueries implements SettlementQueries {
  readonly #scripts: LedgerScripts;

  constructor(
    private readonly redis: Redis,
    epochs: LedgerEpochs,
  ) {
    this.#scripts = new LedgerScripts(redis, epochs);
  }

  async byId(chainId: number, id: string): Promise<Settlement | undefined> {
    const own = { script: SCRIPTS.byId, keys: [keys.recordKey(chainId, id)], args: [] };
    const [record, details] = asList(await this.#scripts.runAgain(chainId, own));
    return readSettlement(id, record, details);
  }

  async claimsOf(
    chainId: number,
    authorizationIds: readonly string[],
  ): Promise<readonly Settlement[]> {
    const indexes = authorizationIds.map((id) => keys.authorizationKey(chainId, id));
    const own = { script: SCRIPTS.claimsOf, keys: indexes, args: [] };
    return asList(await this.#scripts.runAgain(chainId, own)).flatMap((one) => {
      const [id, record, details] = asList(one);
      return readSettlement(asText(id), record, details) ?? [];
    });
  }

  async byTransaction(chainId: number, transaction: Hex): Promise<readonly Settlement[]> {
    const key = keys.transactionKey(chainId, encodeHash(transaction));
    const text = await redisCall('idsOf', this.redis.get(key));
    return text === null ? [] : this.#known(chainId, text.split(','));
  }

  newest(chainId: number, most: number): Promise<readonly Settlement[]> {
    return this.#newestIn(keys.listKey(chainId, 'newest'), chainId, most);
  }

  newestOfPayer(chainId: number, payer: Address, most: number): Promise<readonly Settlement[]> {
    return this.#newestIn(keys.payerKey(chainId, payer), chainId, most);
  }

  async #newestIn(key: string, chainId: number, most: number): Promise<readonly Settlement[]> {
    const ids = await redisCall('newest', this.redis.zrevrange(key, 0, most - 1));
    return this.#known(chainId, ids);
  }

  async #known(chainId: number, ids: readonly string[]): Promise<readonly Settlement[]> {
    const found = await Promise.all(ids.map((id) => this.byId(chainId, id)));
    return found.filter((one) => one !== undefined);
  }
}

function readSettlement(
  id: string,
  record: ScriptReply | undefined,
  details: ScriptReply | undefined,
): Settlement | undefined {
  const fields = asPairs(record);
  const view = readRecord(id, fields);
  if (view === undefined) return undefined;
  // Only a live record still holds the payment.
  if (fields.has('payment')) return { isLive: true, view, details: readDetails(fields, fields) };
  const kept = asText(details);
  return {
    isLive: false,
    view,
    details: kept === '' ? undefined : readDetails(parseDetails(kept), fields),
  };
}
