import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../platform/concurrency/clock.js';
import { Rounds } from '../platform/concurrency/rounds.js';
import { AppConfig } from '../platform/config/app-config.js';
import type { HistoryConfig } from '../platform/config/history-settings.js';
import { AtShutdown } from '../platform/lifecycle/at-shutdown.js';
import { RedisUnavailableError } from '../protocol/errors.js';
import { OUTBOX } from '../settlement/ledger/ledger.module.js';
import type { LedgerAt } from '../settlement/ledger/ledger-scripts.js';
import type { Outbox } from '../settlement/ledger/outbox.js';
import { ProcessRegistry } from '../settlement/ledger/process-registry.js';
import { type Archive, type ArchiveCondition, ArchiveError } from './archive.js';
import { ArchivedVersions } from './archived-versions.js';
import { Evictor } from './evictor.js';
import { type HistoryObserver, LOGGED_HISTORY } from './history-observer.js';
import { HistoryTables } from './history-tables.js';
import { PostgresArchive } from './postgres/postgres-archive.js';
import { newestOf } from './settlement-row.js';

interface ArchiverConfig {
  readonly ledgerChainIds: readonly number[];
  readonly history: Pick<HistoryConfig, 'migrates'> | undefined;
}

/** After a crash another process continues within this time. */
const LEASE_MS = 5000;
/** The ledger is read in one step, which blocks all other Redis commands. */
const ENTRIES_MOST = 200;
const IDLE_MS = 250;
const RETRY_MS = 1000;
const UPKEEP_MS = 3_600_000;
/** Time between two rounds of eviction. */
const EVICT_MS = 1000;

/**
 * Copies changes from the outbox of the ledger to the archive. It reads, commits, and trims the outbox last, so a
 * crash only causes a repetition, and the archive ignores repetitions. Every process may run an archiver; a lease
 * makes one of them active for each chain.
 */
@Injectable()
export class Archiver implements OnModuleInit {
  readonly #rounds = new Rounds(() => this.round());
  readonly #epochs = new Map<string, number>();
  readonly #archived = new ArchivedVersions();
  #isOpen = false;
  #upkeepAt = -Infinity;
  /** By chain. */
  readonly #evictedAt = new Map<number, number>();
  #condition: ArchiveCondition | undefined;

  constructor(
    @Inject(OUTBOX) private readonly outbox: Outbox,
    @Inject(PostgresArchive) private readonly archive: Archive,
    @Inject(Evictor) private readonly evictor: Pick<Evictor, 'round'>,
    @Inject(ProcessRegistry) private readonly process: Pick<ProcessRegistry, 'processId'>,
    @Inject(LOGGED_HISTORY) private readonly observer: HistoryObserver,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(AppConfig) private readonly config: ArchiverConfig,
    @Inject(HistoryTables) private readonly tables: Pick<HistoryTables, 'whenThere'>,
  ) {}

  /** Why the database cannot archive now; `undefined` if it can. */
  get condition(): ArchiveCondition | undefined {
    return this.#condition;
  }

  /** A process that may not create the tables waits for them. */
  onModuleInit(): void {
    if (this.config.history?.migrates === true) this.#rounds.start();
    else {
      this.tables.whenThere(() => {
        this.#rounds.start();
      });
    }
  }

  /** Finishes the current round, and releases the lease to another process. */
  @AtShutdown('archive', 'history')
  async stop(): Promise<void> {
    await this.#rounds.stop();
    const { processId } = this.process;
    const released = this.config.ledgerChainIds.map((chainId) =>
      this.outbox.release(chainId, processId),
    );
    await Promise.allSettled(released);
  }

  /**
   * Archives the backlog of each chain. Never fails.
   *
   * @returns milliseconds to pause.
   */
  async round(): Promise<number> {
    try {
      await this.#prepare();
    } catch (error) {
      this.#fail(error);
      return RETRY_MS;
    }
    let pause = IDLE_MS;
    let hasFailed = false;
    for (const chainId of this.config.ledgerChainIds) {
      try {
        if (await this.#archive(chainId)) pause = 0;
      } catch (error) {
        // A failure of one chain does not delay the others; a failure of the database delays all chains.
        hasFailed = true;
        this.#fail(error);
        if (error instanceof ArchiveError) return RETRY_MS;
      }
    }
    this.#condition = undefined;
    return hasFailed ? RETRY_MS : pause;
  }

  async #prepare(): Promise<void> {
    const { archive, clock, observer } = this;
    if (!this.#isOpen) {
      await archive.open();
      this.#isOpen = true;
      observer.opened();
    }
    if (clock.steady() - this.#upkeepAt < UPKEEP_MS) return;
    await archive.upkeep(clock.now());
    this.#upkeepAt = clock.steady();
  }

  /** @returns whether there is more. */
  async #archive(chainId: number): Promise<boolean> {
    const { outbox, archive, observer } = this;
    const { processId } = this.process;
    const at = await outbox.now(chainId);
    const epoch = await this.#numberOf(at);
    const read = await outbox.read(at, { processId, leaseMs: LEASE_MS }, ENTRIES_MOST);
    if (read.kind === 'held') return false;
    if (read.last === undefined) return this.#evict(at);
    const changed = this.#archived.changed(at, read.changes);
    const { stale, ...stored } = await archive.store(chainId, epoch, newestOf(changed));
    this.#archived.keep(at, changed);
    // Only committed changes may leave the outbox.
    await outbox.trim(at, read.last);
    const known = read.changes.length - changed.length;
    observer.archived(chainId, { ...stored, stale: stale + known, gone: read.gone });
    await this.#evict(at);
    return true;
  }

  /** @returns whether there is more. */
  async #evict(at: LedgerAt): Promise<boolean> {
    const now = this.clock.steady();
    if (now - (this.#evictedAt.get(at.chainId) ?? -Infinity) < EVICT_MS) return false;
    if (await this.evictor.round(at)) return true;
    this.#evictedAt.set(at.chainId, now);
    return false;
  }

  async #numberOf(at: LedgerAt): Promise<number> {
    const key = `${at.chainId} ${at.epoch}`;
    const known = this.#epochs.get(key);
    if (known !== undefined) return known;
    const number = await this.archive.epochNumber(at);
    this.#epochs.set(key, number);
    return number;
  }

  #fail(error: unknown): void {
    // Other parts log an outage of the ledger.
    if (error instanceof RedisUnavailableError) return;
    const condition = error instanceof ArchiveError ? error.condition : undefined;
    if (condition !== undefined) {
      this.#condition = condition;
      // The database may be replaced, or lose its tables, before it answers again.
      this.#isOpen = false;
      this.#epochs.clear();
      this.#archived.forget();
    }
    this.observer.failed(condition, error);
  }
}
