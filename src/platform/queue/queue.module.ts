import { BullModule } from '@nestjs/bullmq';
import { type DynamicModule, Module } from '@nestjs/common';
import type { AppConfig } from '../config/app-config.js';
import { DEPLOYMENT_TAG, ledgerTag } from '../redis/hash-slot.js';
import { QueueConnections } from '../redis/queue-connections.js';
import { QueueReader } from './queue-reader.js';

BullModule.workerClass = QueueReader;

/**
 * The BullMQ connections of this process. A queue and its processors name the hash tag of their keys as `configKey`,
 * which selects their connection and prefix.
 */
@Module({})
export class QueueModule {
  static forRoot(config: AppConfig): DynamicModule {
    const tags = [
      ...(config.settles ? config.ledgerChainIds.map(ledgerTag) : []),
      ...(config.deliversWebhooks ? [DEPLOYMENT_TAG] : []),
    ];
    return {
      module: QueueModule,
      imports: [
        ...tags.map((tag) =>
          BullModule.forRootAsync(tag, {
            inject: [QueueConnections],
            useFactory: (connections: QueueConnections) => connections.optionsOf(tag),
          }),
        ),
        // Registers the processors, also in a process that adds no jobs.
        BullModule.registerQueue(),
      ],
    };
  }
}
