import { Rounds } from '../platform/concurrency/rounds.js';
import { FeatureHealth, type HealthReport } from '../platform/observability/feature-health.js';
import { started } from '../protocol/started.js';

/**
 * `missing`: no tables, as before the first start. `outdated`: migrations of this version are
 * missing.
 */
export type TablesState = 'there' | 'outdated' | 'missing';

export interface TablesObserver {
  /** Told once for each state that is not `there`. */
  waits(state: Exclude<TablesState, 'there'>): void;
  /** Told where it has waited. */
  found(): void;
  /** The database cannot be asked. Told once. */
  failed(error: unknown): void;
}

export interface HistoryTablesOptions {
  /** @throws ArchiveError */
  readonly look: () => Promise<TablesState>;
  /** Whether this process has work that needs no table: tables of another version keep it from nothing. */
  readonly settles: boolean;
  /** `undefined` where this process makes them. */
  readonly observer: TablesObserver | undefined;
}

const LOOK_MS = 250;

/**
 * Waits until the tables of the history are there. Their users start then, so the migration may run
 * later. After that it stops looking; users of the tables report later problems.
 */
export class HistoryTables extends FeatureHealth {
  readonly name = 'history_tables';
  override readonly gatesReadiness = true;
  readonly #rounds = new Rounds(() => this.round());
  readonly #begins: (() => void)[] = [];
  #state: TablesState | undefined;
  #isAway = false;

  constructor(private readonly options: HistoryTablesOptions) {
    super();
  }

  start(): void {
    this.#rounds.start();
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** @param begin - is called once, when the tables are there. */
  whenThere(begin: () => void): void {
    if (this.#state === 'there') begin();
    else this.#begins.push(begin);
  }

  /**
   * A process without any table is not ready, and neither is one that does nothing without its own. A database that
   * cannot be asked says nothing of that: what settles does not depend on it.
   */
  report(): HealthReport {
    if (this.#state === undefined || this.#state === 'there') return { isUp: true, facts: {} };
    const isUp = this.#state === 'outdated' && this.options.settles;
    return { isUp, facts: { code: `tables_${this.#state}` } };
  }

  /** Never fails. @returns how long to pause. */
  async round(): Promise<number> {
    const { look, observer } = this.options;
    try {
      const state = await look();
      const before = this.#state;
      this.#state = state;
      if (state === 'there') {
        if (before !== undefined) observer?.found();
        // Not waited for: this is the round that is under way.
        void started(this.stop());
        for (const begin of this.#begins.splice(0)) begin();
      } else if (state !== before) {
        observer?.waits(state);
      }
    } catch (error) {
      if (!this.#isAway) observer?.failed(error);
      this.#isAway = true;
    }
    return LOOK_MS;
  }
}
