import type { PinoLogger } from 'nestjs-pino';
import type { Clock } from '../../platform/concurrency/clock.js';
import { Rounds } from '../../platform/concurrency/rounds.js';
import type { NetworkConfig } from '../../platform/config/app-config.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { ArchiveError } from '../archive.js';
import { differencesIn } from './difference.js';
import type { ReconcilerTask } from './reconciler.js';
import type { Checkpoint, Reconciliation } from './settlement-history.js';

/** What the newest daily run of a chain found. */
export interface NewestRun {
  readonly chainId: number;
  /** By name, notes too. */
  readonly counts: ReadonlyMap<string, number>;
  readonly settlements: number;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  /** Whether it found out which blocks to read. */
  readonly hasBlocks: boolean;
  /** Where the newest run ended that did. */
  readonly checkpoint: Checkpoint | undefined;
}

/** @throws ArchiveError from every method. */
export interface DailyRuns {
  newest(chainId: number): Promise<NewestRun | undefined>;
  /** Takes the lease of a chain or renews it. @returns whether this process holds it. */
  lease(chainId: number, holder: string, ms: number): Promise<boolean>;
  release(chainId: number, holder: string): Promise<void>;
}

interface DailyOptions {
  readonly networks: readonly NetworkConfig[];
  /** Minutes after midnight, UTC. */
  readonly reconcilesAt: number;
  readonly processId: string;
  readonly runs: DailyRuns;
  readonly reconcile: (
    network: NetworkConfig,
    task: ReconcilerTask,
    signal: AbortSignal,
  ) => Promise<Reconciliation>;
  /** Milliseconds the oldest change waits to be archived. */
  readonly archiveLagMs: (chainId: number) => Promise<number>;
  readonly logger: Pick<PinoLogger, 'info' | 'error'>;
  readonly clock: Clock;
}

const LOOK_MS = 10_000;
const RETRY_MS = 600_000;
/** An archive that is further behind lacks what the chain has: the run waits for it. */
const LAG_MOST_MS = 5000;
const LEASE_MS = 60_000;
const RENEW_MS = 15_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/**
 * Reconciles each chain once a day, in one process at a time. A run begins where the one before it ended, so
 * that no block is left out when a day was missed.
 */
export class DailyReconciliation {
  readonly #newest = new Map<number, NewestRun>();
  readonly #failedAt = new Map<number, number>();
  readonly #rounds = new Rounds(async () => {
    await this.round();
    return LOOK_MS;
  });
  readonly #abort = new AbortController();
  #isOutageLogged = false;

  constructor(private readonly options: DailyOptions) {}

  /** The newest run of each chain, as far as this process has seen it. */
  get newest(): ReadonlyMap<number, NewestRun> {
    return this.#newest;
  }

  start(): void {
    this.#rounds.start();
  }

  @AtShutdown('background', 'reconciliation')
  async stop(): Promise<void> {
    this.#abort.abort(new Error('the process is shutting down'));
    await this.#rounds.stop();
  }

  /** Runs what is due. Never fails. */
  async round(): Promise<void> {
    for (const network of this.options.networks) {
      if (this.#isStopping()) return;
      try {
        await this.#look(network);
        this.#isOutageLogged = false;
      } catch (error) {
        if (this.#isStopping()) return;
        this.#fail(network.chainId, error);
      }
    }
  }

  /** A database that is away, or not made yet, is looked for again soon, and told of once. */
  #fail(chainId: number, error: unknown): void {
    const { clock, logger } = this.options;
    if (error instanceof RedisUnavailableError) return;
    const isAway = error instanceof ArchiveError;
    if (!isAway) this.#failedAt.set(chainId, clock.now());
    if (!isAway || !this.#isOutageLogged) {
      logger.error(
        { network: caip2Of(chainId), err: error },
        'reconciliation failed; it will be retried',
      );
    }
    this.#isOutageLogged = isAway;
  }

  async #look(network: NetworkConfig): Promise<void> {
    const { chainId } = network;
    const { runs, processId } = this.options;
    if (!(await this.#isDue(chainId))) return;
    if (!(await runs.lease(chainId, processId, LEASE_MS))) return;
    try {
      // Another process may have done it since.
      if (await this.#isDue(chainId)) await this.#reconcile(network);
    } finally {
      await runs.release(chainId, processId);
    }
  }

  async #isDue(chainId: number): Promise<boolean> {
    const { runs, clock, reconcilesAt, archiveLagMs } = this.options;
    const newest = await runs.newest(chainId);
    if (newest !== undefined) this.#newest.set(chainId, newest);
    const now = clock.now();
    if (now - (this.#failedAt.get(chainId) ?? -Infinity) < RETRY_MS) return false;
    if (!isDue(now, reconcilesAt, newest)) return false;
    return (await archiveLagMs(chainId)) <= LAG_MOST_MS;
  }

  async #reconcile(network: NetworkConfig): Promise<void> {
    const { chainId } = network;
    const { clock, reconcile } = this.options;
    const now = clock.now();
    const resume = this.#newest.get(chainId)?.checkpoint;
    const window = { fromMs: resume?.toMs ?? now - DAY_MS, toMs: now };
    const renewing = new AbortController();
    const renewed = this.#renew(chainId, renewing);
    try {
      const signal = AbortSignal.any([this.#abort.signal, renewing.signal]);
      const run = await reconcile(network, { startedBy: 'daily', window, resume }, signal);
      this.#log(run);
    } finally {
      clearInterval(renewed);
    }
    const newest = await this.options.runs.newest(chainId);
    if (newest !== undefined) this.#newest.set(chainId, newest);
  }

  /** What it found is in the database. */
  #log({ chainId, blocks, settlements, counts }: Reconciliation): void {
    const { logger } = this.options;
    const facts = {
      network: caip2Of(chainId),
      settlements,
      counts: Object.fromEntries(counts),
      ...(blocks !== undefined && { blocks: `${blocks.from} to ${blocks.to}` }),
    };
    if (differencesIn(counts) === 0)
      logger.info(facts, 'reconciliation: the ledger agrees with the chain');
    else
      logger.error(
        facts,
        'reconciliation: the ledger and the chain differ, or could not be compared',
      );
  }

  #isStopping(): boolean {
    return this.#abort.signal.aborted;
  }

  /** A run whose lease is lost ends before it is kept: another process does the same. */
  #renew(chainId: number, lost: AbortController): NodeJS.Timeout {
    const { runs, processId } = this.options;
    const timer = setInterval(() => {
      runs.lease(chainId, processId, LEASE_MS).then(
        (isHeld) => {
          if (!isHeld) lost.abort(new Error('the reconciliation lost its lease'));
        },
        () => undefined,
      );
    }, RENEW_MS);
    timer.unref();
    return timer;
  }
}

/** Whether the run of the newest appointed time is missing, or could not even begin. */
export function isDue(now: number, minutes: number, newest: NewestRun | undefined): boolean {
  if (newest === undefined) return true;
  const today = Math.floor(now / DAY_MS) * DAY_MS + minutes * MINUTE_MS;
  const appointed = today > now ? today - DAY_MS : today;
  if (newest.startedAt.getTime() < appointed) return true;
  return !newest.hasBlocks && now - newest.finishedAt.getTime() >= RETRY_MS;
}
