import { BullModule } from '@nestjs/bullmq';
import { type DynamicModule, Module } from '@nestjs/common';
import type { AppConfig } from '../config/app-config.js';
import { DEPLOYMENT_TAG, ledgerTag } from '../redis/hash-slot.js';
import { QueueConnections } from '../redis/queue-connections.js';
import { QueueReader } from './queue-reader.js';

BullModule.workerClass = QueueReader;

/**
 * BullMQ of this process. A queue and its processors name the hash tag of their keys as `configKey`: that says which
 * connection and which prefix they have.
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
        // Finds the processors, also in a process that adds to no queue.
        BullModule.registerQueue(),
      ],
    };
  }
}
