import { Injectable } from '@nestjs/common';
import { DatabasePools } from '../../platform/database/database-pools.js';
import type { ArchiveReaders } from '../sellers/settlement-reader.js';
import { databaseOn } from './database.js';
import { PostgresSettlementReader } from './postgres-settlement-reader.js';

/** {@link ArchiveReaders} in PostgreSQL, each with its own pool. */
@Injectable()
export class PostgresReaders implements ArchiveReaders {
  readonly lists: PostgresSettlementReader;
  readonly exports: PostgresSettlementReader;
  readonly totals: PostgresSettlementReader;

  constructor(pools: DatabasePools) {
    this.lists = new PostgresSettlementReader(databaseOn(pools.of('lists')));
    this.exports = new PostgresSettlementReader(databaseOn(pools.of('exports')));
    this.totals = new PostgresSettlementReader(databaseOn(pools.of('totals')));
  }
}
