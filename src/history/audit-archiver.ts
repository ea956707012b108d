import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { Rounds } from '../platform/concurrency/rounds.js';
import { AppConfig } from '../platform/config/app-config.js';
import { AtShutdown } from '../platform/lifecycle/at-shutdown.js';
import { RedisUnavailableError } from '../protocol/errors.js';
import { AuditTrail } from '../settlement/ledger/audit-trail.js';
import { HistoryTables } from './history-tables.js';
import { PostgresAudit } from './postgres/postgres-audit.js';

const LOOK_MS = 2000;

/**
 * Copies the actions of operators to the audit table. Redis keeps its entries, so several processes may copy at once,
 * and a crash loses nothing.
 */
@Injectable()
export class AuditArchiver implements OnModuleInit {
  readonly #copied = new Map<number, string>();
  readonly #rounds = new Rounds(() => this.round());
  #isFailing = false;

  constructor(
    @Inject(AuditTrail) private readonly trail: Pick<AuditTrail, 'newest' | 'all'>,
    @Inject(PostgresAudit) private readonly table: Pick<PostgresAudit, 'add'>,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'ledgerChainIds'>,
    @Inject(HistoryTables) private readonly tables: Pick<HistoryTables, 'whenThere'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'error'>,
  ) {}

  onModuleInit(): void {
    this.tables.whenThere(() => {
      this.#rounds.start();
    });
  }

  @AtShutdown('archive', 'audit')
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /**
   * Never fails; entries that could not be copied are copied in the next round.
   *
   * @returns milliseconds to pause.
   */
  async round(): Promise<number> {
    try {
      for (const chainId of this.config.ledgerChainIds) await this.#copy(chainId);
      this.#isFailing = false;
    } catch (error) {
      // One line for each outage; other parts log an outage of the ledger.
      if (!this.#isFailing && !(error instanceof RedisUnavailableError)) {
        this.logger.error(
          { err: error },
          'cannot archive the audit log in PostgreSQL; its entries stay in Redis',
        );
      }
      this.#isFailing = true;
    }
    return LOOK_MS;
  }

  async #copy(chainId: number): Promise<void> {
    const { trail, table } = this;
    const newest = await trail.newest(chainId);
    if (newest === undefined || newest === this.#copied.get(chainId)) return;
    const entries = await trail.all(chainId);
    if (entries.length > 0) await table.add(chainId, entries);
    this.#copied.set(chainId, newest);
  }
}
