import type { Redis } from 'ioredis';
import type { Hex } from 'viem';
import { LedgerEpochChangedError } from '../../../protocol/errors.js';
import type { SettlementDetails, SettlementView } from '../../model/settlement.js';
import {
  redisCall,
  runKeyedScript,
  type Script,
  type ScriptReply,
} from '../../../platform/redis/redis-scripts.js';
import { asEpochError, type LedgerEpochs } from '../epoch.js';
import * as keys from '../keys.js';
import { encodeHash, parseDetails, readDetails, readRecord } from '../record.js';
import { asList, asPairs, asText } from '../reply.js';
import { loadScript } from '../script-files.js';

/** A settlement as the status endpoint shows it. */
export interface Story {
  readonly view: SettlementView;
  /** Missing once the retention time is over. */
  readonly details: SettlementDetails | undefined;
}

const STORY = loadScript('story');
const CLAIMS_OF = loadScript('claims_of');

/**
 * Reads settlements for people and programs that look, and change nothing. What one look shows was so at
 * one moment.
 *
 * @throws RedisUnavailableError from every method.
 */
export class StoryReader {
  constructor(
    private readonly redis: Redis,
    private readonly epochs: LedgerEpochs,
  ) {}

  async read(chainId: number, id: string): Promise<Story | undefined> {
    const [record, details] = asList(
      await this.#run(STORY, chainId, [keys.recordKey(chainId, id)]),
    );
    return storyOf(id, record, details);
  }

  /** The claims of authorizations: those that were sold first, then live ones, then finished ones. */
  async claimsOf(chainId: number, authorizationIds: readonly string[]): Promise<readonly Story[]> {
    const indexes = authorizationIds.map((id) => keys.authorizationKey(chainId, id));
    return asList(await this.#run(CLAIMS_OF, chainId, indexes)).flatMap((one) => {
      const [id, record, details] = asList(one);
      return storyOf(asText(id), record, details) ?? [];
    });
  }

  /** The settlements a transaction carries or carried. */
  async idsOf(chainId: number, transaction: Hex): Promise<readonly string[]> {
    const key = keys.transactionKey(chainId, encodeHash(transaction));
    const text = await redisCall('idsOf', this.redis.get(key));
    return text === null ? [] : text.split(',');
  }

  async #run(which: Script, chainId: number, own: readonly string[]): Promise<ScriptReply> {
    const once = async (): Promise<ScriptReply> => {
      const epoch = await this.epochs.of(chainId);
      try {
        return await runKeyedScript(this.redis, which, [keys.epochKey(chainId), ...own], [epoch]);
      } catch (error) {
        const changed = asEpochError(which.name, error);
        if (changed === undefined) throw error;
        this.epochs.forget(chainId, epoch);
        throw changed;
      }
    };
    try {
      return await once();
    } catch (error) {
      if (!(error instanceof LedgerEpochChangedError)) throw error;
    }
    return once();
  }
}

function storyOf(
  id: string,
  record: ScriptReply | undefined,
  details: ScriptReply | undefined,
): Story | undefined {
  const fields = asPairs(record);
  const view = readRecord(id, fields);
  if (view === undefined) return undefined;
  const kept = asText(details);
  if (fields.has('payment')) return { view, details: readDetails(fields, fields) };
  return { view, details: kept === '' ? undefined : readDetails(parseDetails(kept), fields) };
}
