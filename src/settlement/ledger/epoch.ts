import type { Redis } from 'ioredis';
import type { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { redisCall, runKeyedScript } from '../../platform/redis/redis-scripts.js';
import { whileStarting } from '../../platform/redis/while-starting.js';
import {
  LedgerEpochChangedError,
  RedisUnavailableError,
  StartError,
} from '../../protocol/errors.js';
import { epochKey, FORMAT, formatKey, KEYS_OF_VERSION_1, speakersKeys } from './keys.js';
import { asText, asTexts } from './reply.js';
import { loadScript } from './script-files.js';

const OPEN_EPOCH = loadScript('open_epoch');

/**
 * After a ledger lost writes, it waits this long for each process that lived before to replay its acknowledged
 * answers. A process that is silent for this long is removed.
 */
export const AWAITED_MS = 20_000;

type Listener = (chainId: number) => void;

/**
 * The epoch of each chain's ledger: which Redis server wrote it, and since when. Every script names its expected epoch.
 * A failover, a restore or a flush changes it, and then nothing is written before this process has noticed, because the
 * ledger may have returned to an earlier state.
 */
export class LedgerEpochs {
  /** Run id of the Redis server of each connection. */
  readonly #runIds = new Map<Redis, Promise<string>>();
  readonly #current = new Map<number, string>();
  readonly #opening = new Map<number, Promise<string>>();
  /** The last epoch known, which outlives a connection. */
  readonly #seen = new Map<number, string>();
  readonly #listeners = new Set<Listener>();

  /** @param hasOutbox - whether changes are noted for a history. */
  constructor(
    private readonly ledger: LedgerConnections,
    readonly hasOutbox = false,
  ) {
    for (const redis of ledger.servers) {
      const areThere = (): number[] =>
        [...this.#seen.keys()].filter((chainId) => ledger.of(chainId) === redis);
      // The next connection may lead to another server.
      redis.on('close', () => {
        this.#runIds.delete(redis);
        for (const chainId of areThere()) {
          this.#current.delete(chainId);
          this.#opening.delete(chainId);
        }
      });
      redis.on('ready', () => {
        // Waiting requesters must get the event at once, even if no other request reads the ledger.
        for (const chainId of areThere()) this.of(chainId).catch(() => undefined);
      });
    }
  }

  /**
   * Opens the ledgers of these chains.
   *
   * @throws StartError if Redis holds a ledger of another version, or does not answer.
   */
  async start(chainIds: readonly number[]): Promise<void> {
    await whileStarting('REDIS_URL', async () => {
      // In parallel, so that the start waits only once for a slow Redis.
      await Promise.all([this.#checkVersion(), ...chainIds.map((one) => this.#checkFormat(one))]);
    });
    await whileStarting('REDIS_URL', () => Promise.all(chainIds.map((one) => this.of(one))));
  }

  /**
   * The epoch known to this process; read again on a new connection.
   *
   * @throws RedisUnavailableError
   */
  of(chainId: number): Promise<string> {
    const known = this.#current.get(chainId);
    if (known !== undefined) return Promise.resolve(known);
    let opening = this.#opening.get(chainId);
    if (opening === undefined) {
      opening = this.#open(chainId).finally(() => {
        if (this.#opening.get(chainId) === opening) this.#opening.delete(chainId);
      });
      this.#opening.set(chainId, opening);
    }
    return opening;
  }

  /** Called after a script found another epoch. */
  forget(chainId: number, epoch: string): void {
    if (this.#current.get(chainId) === epoch) this.#current.delete(chainId);
    this.of(chainId).catch(() => undefined);
  }

  /**
   * Registers a callback for a ledger that lost writes.
   *
   * @returns a function that removes the callback.
   */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #checkVersion(): Promise<void> {
    const found = KEYS_OF_VERSION_1.map((key) => this.ledger.shared.exists(key));
    if ((await redisCall('version', Promise.all(found))).includes(1)) {
      throw new StartError(otherVersion('1'));
    }
  }

  /** Runs before anything is written. */
  async #checkFormat(chainId: number): Promise<void> {
    const found = await redisCall('format', this.ledger.shared.get(formatKey(chainId)));
    if (found !== null && found !== FORMAT) throw new StartError(otherVersion(found));
  }

  async #open(chainId: number): Promise<string> {
    const redis = this.ledger.of(chainId);
    const reading = this.#runIds.get(redis) ?? this.#readRunId(redis);
    this.#runIds.set(redis, reading);
    const runId = await reading;
    const keys = [epochKey(chainId), formatKey(chainId), ...speakersKeys(chainId)];
    const before = this.#seen.get(chainId);
    const [epoch = '', found = ''] = asTexts(
      await runKeyedScript(redis, OPEN_EPOCH, keys, [runId, FORMAT, AWAITED_MS, before ?? '']),
    );
    if (epoch === 'format') throw new StartError(otherVersion(found));
    // The connection was lost meanwhile, so the result belongs to the former server.
    if (this.#runIds.get(redis) !== reading)
      throw new RedisUnavailableError('open_epoch', 'reconnected');
    this.#current.set(chainId, epoch);
    this.#seen.set(chainId, epoch);
    if (before !== undefined && before !== epoch) {
      for (const listener of [...this.#listeners]) listener(chainId);
    }
    return epoch;
  }

  async #readRunId(redis: Redis): Promise<string> {
    try {
      const info = asText(await redisCall('run_id', redis.info('server')));
      return /^run_id:(\w+)/m.exec(info)?.[1] ?? 'unknown';
    } catch (error) {
      // A hosted Redis may forbid the command; then only a flush is detected.
      if (/^(NOPERM|ERR unknown command)/.test(messageOf(error))) return 'unknown';
      this.#runIds.delete(redis);
      throw error;
    }
  }
}

function otherVersion(found: string): string {
  return (
    `REDIS_URL: this Redis database holds a ledger of format ${found}, and this version writes ` +
    `format ${FORMAT}. Let the old version finish its open settlements, then use an empty database.`
  );
}

/** Translates the error of a script into an error of this service. */
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
