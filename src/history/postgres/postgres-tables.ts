import { Inject, Injectable } from '@nestjs/common';
import { Database } from './database.js';
import { type TablesState, tablesState } from './migrator.js';

/** Reads whether the tables exist. */
@Injectable()
export class PostgresTables {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** @throws ArchiveError */
  state(): Promise<TablesState> {
    return tablesState(this.database.pool);
  }
}
