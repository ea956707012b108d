import type { Redis } from 'ioredis';
import { PARTITION_COUNTS } from '../../platform/config/partition-settings.js';
import { ledgerTag } from '../../platform/redis/hash-slot.js';
import type { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import type { LedgerId } from '../../platform/redis/partitions.js';
import { redisCall, runKeyedScript } from '../../platform/redis/redis-scripts.js';
import { whileStarting } from '../../platform/redis/while-starting.js';
import {
  LedgerEpochChangedError,
  RedisUnavailableError,
  StartError,
} from '../../protocol/errors.js';
import { epochKey, FORMAT, formatKey, KEYS_OF_VERSION_1 } from './keys.js';
import { asText, asTexts } from './reply.js';
import { loadScript } from './script-files.js';

const OPEN_EPOCH = loadScript('open_epoch');

type Listener = (chainId: number) => void;

/**
 * The epoch of each ledger, of a chain or a partition of it: which Redis server wrote it, and since when. Every script names the
 * epoch it believes in. A failover, a restore or a flush changes it, and then nothing is written before
 * this process has noticed: the ledger may have gone back to an earlier state.
 */
export class LedgerEpochs {
  /** Of the server that each connection leads to. */
  readonly #runIds = new Map<Redis, Promise<string>>();
  // By the hash tag of the ledger.
  readonly #current = new Map<string, string>();
  readonly #opening = new Map<string, Promise<string>>();
  /** The last epoch known, which outlives a connection. */
  readonly #seen = new Map<string, { readonly ledger: LedgerId; readonly epoch: string }>();
  readonly #listeners = new Set<Listener>();

  /** @param hasOutbox - whether changes are noted for a history. */
  constructor(
    private readonly ledger: LedgerConnections,
    readonly hasOutbox = false,
  ) {
    for (const redis of ledger.servers) {
      const areThere = (): LedgerId[] =>
        [...this.#seen.values()]
          .map((seen) => seen.ledger)
          .filter((one) => ledger.of(one) === redis);
      // The next connection may lead to another server.
      redis.on('close', () => {
        this.#runIds.delete(redis);
        for (const one of areThere()) {
          for (const known of [this.#current, this.#opening]) known.delete(ledgerTag(one));
        }
      });
      redis.on('ready', () => {
        // Whoever waits shall hear at once, also where nothing is asked just now.
        for (const one of areThere()) this.of(one).catch(() => undefined);
      });
    }
  }

  /**
   * Opens the ledgers of these chains.
   *
   * @throws StartError when Redis holds a ledger of another version, or does not answer.
   */
  async start(chainIds: readonly number[]): Promise<void> {
    await whileStarting('REDIS_URL', async () => {
      // Both at once: a Redis that is slow is waited for once.
      await Promise.all([this.#checkVersion(), ...chainIds.map((one) => this.#checkFormats(one))]);
    });
    const { partitions } = this.ledger;
    const ledgers = chainIds.flatMap((chainId) => partitions.all(chainId));
    await whileStarting('REDIS_URL', () => Promise.all(ledgers.map((ledger) => this.of(ledger))));
  }

  /** The epoch as this process knows it; where the connection is new it is asked for. @throws RedisUnavailableError */
  of(ledger: LedgerId): Promise<string> {
    const tag = ledgerTag(ledger);
    const known = this.#current.get(tag);
    if (known !== undefined) return Promise.resolve(known);
    let opening = this.#opening.get(tag);
    if (opening === undefined) {
      opening = this.#open(ledger).finally(() => {
        if (this.#opening.get(tag) === opening) this.#opening.delete(tag);
      });
      this.#opening.set(tag, opening);
    }
    return opening;
  }

  /** A script found another epoch than this one. */
  forget(ledger: LedgerId, epoch: string): void {
    const tag = ledgerTag(ledger);
    if (this.#current.get(tag) === epoch) this.#current.delete(tag);
    this.of(ledger).catch(() => undefined);
  }

  /**
   * Told when the ledger of a chain went back.
   *
   * @returns how to stop listening.
   */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #checkVersion(): Promise<void> {
    const found = KEYS_OF_VERSION_1.map((key) => this.ledger.shared.exists(key));
    if ((await redisCall('version', Promise.all(found))).includes(1)) {
      throw new StartError(otherVersion('1', FORMAT));
    }
  }

  /**
   * Before anything is written anywhere: a partition that was lost says nothing of how many there are, and the
   * others do.
   */
  async #checkFormats(chainId: number): Promise<void> {
    const { shared, partitions } = this.ledger;
    const format = formatOf(partitions.countOf(chainId));
    const all = Array.from({ length: Math.max(...PARTITION_COUNTS) }, (_, partition) =>
      shared.get(formatKey({ chainId, partition })),
    );
    const found = (await redisCall('formats', Promise.all(all))).find(
      (one) => one !== null && one !== format,
    );
    if (found != null) throw new StartError(otherVersion(found, format));
  }

  async #open(ledger: LedgerId): Promise<string> {
    const redis = this.ledger.of(ledger);
    const reading = this.#runIds.get(redis) ?? this.#readRunId(redis);
    this.#runIds.set(redis, reading);
    const runId = await reading;
    const keys = [epochKey(ledger), formatKey(ledger)];
    const format = formatOf(this.ledger.partitions.countOf(ledger.chainId));
    const [epoch = '', found = ''] = asTexts(
      await runKeyedScript(redis, OPEN_EPOCH, keys, [runId, format]),
    );
    if (epoch === 'format') throw new StartError(otherVersion(found, format));
    // The connection was lost meanwhile: what was read belongs to the former one.
    if (this.#runIds.get(redis) !== reading)
      throw new RedisUnavailableError('open_epoch', 'reconnected');
    const tag = ledgerTag(ledger);
    const before = this.#seen.get(tag);
    this.#current.set(tag, epoch);
    this.#seen.set(tag, { ledger, epoch });
    if (before !== undefined && before.epoch !== epoch) {
      for (const listener of [...this.#listeners]) listener(ledger.chainId);
    }
    return epoch;
  }

  async #readRunId(redis: Redis): Promise<string> {
    try {
      const info = asText(await redisCall('run_id', redis.info('server')));
      return /^run_id:(\w+)/m.exec(info)?.[1] ?? 'unknown';
    } catch (error) {
      // A hosted Redis may forbid the question: then only a flush is noticed.
      if (/^(NOPERM|ERR unknown command)/.test(messageOf(error))) return 'unknown';
      this.#runIds.delete(redis);
      throw error;
    }
  }
}

/**
 * With several partitions it names their number, so that no process claims in one of two what another claims in one
 * of four. A version that knows no partitions refuses all but one.
 */
function formatOf(partitions: number): string {
  return partitions === 1 ? FORMAT : `${FORMAT}/${partitions}`;
}

function otherVersion(found: string, format: string): string {
  const [version, partitions = '1'] = found.split('/');
  if (version === FORMAT) {
    return (
      `LEDGER_PARTITIONS: this Redis database holds a ledger in ${partitions} partitions, and it is set to ` +
      `${format.split('/')[1] ?? '1'}. Let what was begun be finished with the former number, then use an empty database.`
    );
  }
  return (
    `REDIS_URL: this Redis database holds a ledger of format ${found}, and this version writes ` +
    `format ${format}. Let the old version finish what it has begun, then use an empty database.`
  );
}

/** What a script's own error means. */
export function asEpochError(name: string, error: unknown): LedgerEpochChangedError | undefined {
  return messageOf(error).startsWith('EPOCH') ? new LedgerEpochChangedError(name) : undefined;
}

export function isLeaseError(error: unknown): boolean {
  return messageOf(error).startsWith('LEASE');
}

function messageOf(error: unknown): string {
  const cause = error instanceof RedisUnavailableError ? error.cause : error;
  return cause instanceof Error ? cause.message : '';
}
