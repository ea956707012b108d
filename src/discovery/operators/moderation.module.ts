import { Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import {
  connectDatabase,
  type ConnectionUse,
  type Database,
} from '../../history/postgres/database.js';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { PostgresModeration } from '../postgres/postgres-moderation.js';
import { Moderation } from './moderation.js';

interface Connected {
  /** Missing without a catalogue. */
  readonly database?: Database;
}

const CONNECTED = Symbol('MODERATION_DATABASE');

/** Connections of their own: whatever operators look for delays no buyer. */
const MODERATING: ConnectionUse = {
  name: 'x402-moderation',
  most: 2,
  connectMs: 1000,
  statementMs: 5000,
};

/** What operators see of the catalogue and do with it. */
@Module({
  providers: [
    {
      provide: CONNECTED,
      inject: [AppConfig],
      // Nothing is asked at the start: what settles must not depend on it.
      useFactory: ({ history }: AppConfig): Connected =>
        history?.catalogue === undefined
          ? {}
          : { database: connectDatabase(history.databaseUrl, MODERATING) },
    },
    {
      provide: Moderation,
      inject: [AppConfig, CONNECTED],
      useFactory: ({ history }: AppConfig, { database }: Connected) =>
        new Moderation({
          store: database && new PostgresModeration(database.db),
          expiryMs: history?.catalogue?.expiryMs ?? 0,
          now: () => systemClock.now(),
        }),
    },
  ],
  exports: [Moderation],
})
export class ModerationModule implements OnModuleDestroy {
  constructor(@Inject(CONNECTED) private readonly connected: Connected) {}

  async onModuleDestroy(): Promise<void> {
    await this.connected.database?.db.destroy();
  }
}
