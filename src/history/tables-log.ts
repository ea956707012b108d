import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../platform/config/app-config.js';
import { ArchiveError } from './archive.js';
import { databaseProblem } from './database-problem.js';
import type { TablesState } from './postgres/migrator.js';

/**
 * Logs the wait for the tables, in processes that do not create them. Processes that create them log that themselves.
 */
@Injectable()
export class TablesLog {
  readonly #isSilent: boolean;

  constructor(
    private readonly logger: PinoLogger,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'hasRole' | 'history'>,
  ) {
    this.#isSilent = config.hasRole('history') && config.history?.migrates === true;
  }

  /** Called once for each state. */
  waits(state: Exclude<TablesState, 'there'>): void {
    if (this.#isSilent) return;
    const what = state === 'missing' ? 'has no tables yet' : 'has tables of another version';
    this.logger.info(
      `PostgreSQL ${what}: start a process with the role history, or run \`npm run migrate\``,
    );
  }

  /** Called only after a wait. */
  found(): void {
    if (!this.#isSilent) this.logger.info('the PostgreSQL tables are ready');
  }

  /** The database does not answer. Called once. */
  failed(error: unknown): void {
    if (this.#isSilent) return;
    const known = error instanceof ArchiveError ? error : undefined;
    const problem = databaseProblem(this.config.history?.databaseUrl, error);
    this.logger.warn(
      { trouble: known?.condition, code: known?.sqlState, problem },
      'cannot reach PostgreSQL to check its tables; retrying',
    );
  }
}
