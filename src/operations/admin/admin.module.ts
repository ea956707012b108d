import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { LedgerOverview } from '../../settlement/ledger/queries/overview.js';
import { StoryReader } from '../../settlement/ledger/queries/story.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { StatusService } from '../../facilitator/status/status.service.js';
import { AdminController } from './admin.controller.js';
import { AdminPageController } from './admin-page.controller.js';
import { AdminService } from './admin.service.js';

/** Imported only where API keys are in use: without them the page is not there rather than open. */
@Module({
  controllers: [AdminPageController, AdminController],
  providers: [
    AdminService,
    {
      provide: LedgerOverview,
      inject: [LEDGER_REDIS],
      useFactory: (redis: Redis) => new LedgerOverview(redis),
    },
    {
      provide: StatusService,
      inject: [StoryReader, ChainRegistry],
      useFactory: (stories: StoryReader, chains: ChainRegistry) =>
        new StatusService(stories, chains),
    },
  ],
})
export class AdminModule {}
