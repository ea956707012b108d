import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Rounds } from '../platform/concurrency/rounds.js';
import { AppConfig } from '../platform/config/app-config.js';
import { FeatureHealth, type HealthReport } from '../platform/observability/feature-health.js';
import { started } from '../protocol/started.js';
import type { TablesState } from './postgres/migrator.js';
import { PostgresTables } from './postgres/postgres-tables.js';
import { TablesLog } from './tables-log.js';

const LOOK_MS = 250;

/**
 * Waits until the tables of the history exist, so that a migration may run after the start. Users of the tables start
 * then, and report later problems themselves.
 */
@Injectable()
export class HistoryTables extends FeatureHealth implements OnModuleInit, OnModuleDestroy {
  readonly name = 'history_tables';
  override readonly gatesReadiness = true;
  readonly #rounds = new Rounds(() => this.round());
  readonly #begins: (() => void)[] = [];
  #state: TablesState | undefined;
  #isAway = false;

  constructor(
    @Inject(PostgresTables) private readonly tables: Pick<PostgresTables, 'state'>,
    @Inject(TablesLog) private readonly log: Pick<TablesLog, 'waits' | 'found' | 'failed'>,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'settles'>,
  ) {
    super();
  }

  onModuleInit(): void {
    this.#rounds.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.#rounds.stop();
  }

  /** @param begin - called once, as soon as the tables exist. */
  whenThere(begin: () => void): void {
    if (this.#state === 'there') begin();
    else this.#begins.push(begin);
  }

  /**
   * A process is not ready without any tables, or if its only work needs missing tables. A process that settles stays
   * ready with tables of another version, because settling needs no table. A database that does not answer changes
   * nothing here, because settling does not depend on it.
   */
  report(): HealthReport {
    if (this.#state === undefined || this.#state === 'there') return { isUp: true, facts: {} };
    const isUp = this.#state === 'outdated' && this.config.settles;
    return { isUp, facts: { code: `tables_${this.#state}` } };
  }

  /**
   * Never fails.
   *
   * @returns milliseconds to pause.
   */
  async round(): Promise<number> {
    try {
      const state = await this.tables.state();
      const before = this.#state;
      this.#state = state;
      if (state === 'there') {
        if (before !== undefined) this.log.found();
        // `stop` waits for this very round, so the round must not wait for it.
        void started(this.#rounds.stop());
        for (const begin of this.#begins.splice(0)) begin();
      } else if (state !== before) {
        this.log.waits(state);
      }
    } catch (error) {
      if (!this.#isAway) this.log.failed(error);
      this.#isAway = true;
    }
    return LOOK_MS;
  }
}
