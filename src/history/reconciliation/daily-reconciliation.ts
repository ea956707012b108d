import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { Clock } from '../../platform/concurrency/clock.js';
import { Rounds } from '../../platform/concurrency/rounds.js';
import { AppConfig, type NetworkConfig } from '../../platform/config/app-config.js';
import type { HistoryConfig } from '../../platform/config/history-settings.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import { ArchiveError } from '../archive.js';
import { HistoryTables } from '../history-tables.js';
import { differencesIn } from './difference.js';
import type { ReconcilerTask } from './reconciler.js';
import type { Checkpoint, Reconciliation } from './settlement-history.js';

/** The result of the newest daily run of a chain. */
export interface NewestRun {
  readonly chainId: number;
  /** Differences and notes, by name. */
  readonly counts: ReadonlyMap<string, number>;
  readonly settlements: number;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  /** Whether the run determined which blocks to read. */
  readonly hasBlocks: boolean;
  /** The end of the newest run that determined its blocks. */
  readonly checkpoint: Checkpoint | undefined;
}

/** @throws ArchiveError from every method. */
export interface DailyRuns {
  newest(chainId: number): Promise<NewestRun | undefined>;
  /**
   * Takes or renews the lease of a chain.
   *
   * @returns whether this process holds it.
   */
  lease(chainId: number, holder: string, ms: number): Promise<boolean>;
  release(chainId: number, holder: string): Promise<void>;
}

/** Compares ledger and chain with the archive. */
export interface NetworkReconciliation {
  /** @throws ArchiveError, or the reason of an aborted signal. */
  reconcile(
    network: NetworkConfig,
    task: ReconcilerTask,
    signal: AbortSignal,
  ): Promise<Reconciliation>;
  /** Milliseconds since the oldest change that waits for the archiver. */
  archiveLagMs(chainId: number): Promise<number>;
}

// Tokens of the ports, with equal names.
export const DailyRuns = Symbol('DailyRuns');
export const NetworkReconciliation = Symbol('NetworkReconciliation');

interface DailyConfig {
  readonly networks: readonly NetworkConfig[];
  readonly history: Pick<HistoryConfig, 'reconcilesAt'> | undefined;
}

const LOOK_MS = 10_000;
const RETRY_MS = 600_000;
/** With a larger lag the archive lacks recent payments, so the run waits. */
const LAG_MOST_MS = 5000;
const LEASE_MS = 60_000;
const RENEW_MS = 15_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/**
 * Reconciles each chain once a day, in one process at a time. A run starts where the previous one ended, so that a
 * missed day leaves no gap.
 */
@Injectable()
export class DailyReconciliation implements OnModuleInit {
  readonly #newest = new Map<number, NewestRun>();
  readonly #failedAt = new Map<number, number>();
  readonly #rounds = new Rounds(async () => {
    await this.round();
    return LOOK_MS;
  });
  readonly #abort = new AbortController();
  #isOutageLogged = false;

  constructor(
    @Inject(DailyRuns) private readonly runs: DailyRuns,
    @Inject(NetworkReconciliation) private readonly reconciliation: NetworkReconciliation,
    @Inject(ProcessRegistry) private readonly process: Pick<ProcessRegistry, 'processId'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'info' | 'error'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
    @Inject(AppConfig) private readonly config: DailyConfig,
    @Inject(HistoryTables) private readonly tables: Pick<HistoryTables, 'whenThere'>,
  ) {}

  /** The newest run of each chain that this process has seen. */
  get newest(): ReadonlyMap<number, NewestRun> {
    return this.#newest;
  }

  onModuleInit(): void {
    this.tables.whenThere(() => {
      this.#rounds.start();
    });
  }

  @AtShutdown('background', 'reconciliation')
  async stop(): Promise<void> {
    this.#abort.abort(new Error('the process is shutting down'));
    await this.#rounds.stop();
  }

  /** Runs the due reconciliations. Never fails. */
  async round(): Promise<void> {
    for (const network of this.config.networks) {
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

  /** A database that is away or has no tables yet is retried soon, and logged once. */
  #fail(chainId: number, error: unknown): void {
    const { clock, logger } = this;
    if (error instanceof RedisUnavailableError) return;
    const isAway = error instanceof ArchiveError;
    if (!isAway) this.#failedAt.set(chainId, clock.now());
    if (!isAway || !this.#isOutageLogged) {
      logger.error({ network: caip2Of(chainId), err: error }, 'reconciliation failed; retrying');
    }
    this.#isOutageLogged = isAway;
  }

  async #look(network: NetworkConfig): Promise<void> {
    const { chainId } = network;
    const { runs } = this;
    const { processId } = this.process;
    if (!(await this.#isDue(chainId))) return;
    if (!(await runs.lease(chainId, processId, LEASE_MS))) return;
    try {
      // Another process may have run it meanwhile.
      if (await this.#isDue(chainId)) await this.#reconcile(network);
    } finally {
      await runs.release(chainId, processId);
    }
  }

  async #isDue(chainId: number): Promise<boolean> {
    const { runs, clock, reconciliation } = this;
    const newest = await runs.newest(chainId);
    if (newest !== undefined) this.#newest.set(chainId, newest);
    const now = clock.now();
    if (now - (this.#failedAt.get(chainId) ?? -Infinity) < RETRY_MS) return false;
    const reconcilesAt = this.config.history?.reconcilesAt;
    if (reconcilesAt === undefined || !isDue(now, reconcilesAt, newest)) return false;
    return (await reconciliation.archiveLagMs(chainId)) <= LAG_MOST_MS;
  }

  async #reconcile(network: NetworkConfig): Promise<void> {
    const { chainId } = network;
    const { clock, reconciliation } = this;
    const now = clock.now();
    const resume = this.#newest.get(chainId)?.checkpoint;
    const window = { fromMs: resume?.toMs ?? now - DAY_MS, toMs: now };
    const renewing = new AbortController();
    const renewed = this.#renew(chainId, renewing);
    try {
      const signal = AbortSignal.any([this.#abort.signal, renewing.signal]);
      const run = await reconciliation.reconcile(
        network,
        { startedBy: 'daily', window, resume },
        signal,
      );
      this.#log(run);
    } finally {
      clearInterval(renewed);
    }
    const newest = await this.runs.newest(chainId);
    if (newest !== undefined) this.#newest.set(chainId, newest);
  }

  /** The log has only the counts; the differences are in the database. */
  #log({ chainId, blocks, settlements, counts }: Reconciliation): void {
    const { logger } = this;
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

  /** A run whose lease is lost stops before it stores anything, because another process runs it too. */
  #renew(chainId: number, lost: AbortController): NodeJS.Timeout {
    const { runs } = this;
    const { processId } = this.process;
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

/** Whether the run of the newest scheduled time is missing, or could not determine its blocks. */
export function isDue(now: number, minutes: number, newest: NewestRun | undefined): boolean {
  if (newest === undefined) return true;
  const today = Math.floor(now / DAY_MS) * DAY_MS + minutes * MINUTE_MS;
  const appointed = today > now ? today - DAY_MS : today;
  if (newest.startedAt.getTime() < appointed) return true;
  return !newest.hasBlocks && now - newest.finishedAt.getTime() >= RETRY_MS;
}
