import { type DynamicModule, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../platform/config/app-config.js';
import { loadSignerRecovery } from '../platform/crypto/recover-signer.js';
import { HUB_REDIS } from '../platform/redis/redis.module.js';
import { ApiConversationController } from './api/api-conversation.controller.js';
import { ApiDownloadController } from './api/api-download.controller.js';
import { ApiIncomingController } from './api/api-incoming.controller.js';
import { ApiInfoController } from './api/api-info.controller.js';
import { ApiListController } from './api/api-list.controller.js';
import { ApiObjectController } from './api/api-object.controller.js';
import { ApiPriceController } from './api/api-price.controller.js';
import { ApiRetentionController } from './api/api-retention.controller.js';
import { ApiSharedController } from './api/api-shared.controller.js';
import { ApiUploadController } from './api/api-upload.controller.js';
import { ApiVersionController } from './api/api-version.controller.js';
import { HubPageController } from './api/hub-page.controller.js';
import { HubAccess, RecoverHubSigner } from './auth/hub-access.service.js';
import { HubBuckets } from './buckets.service.js';
import { CompactionTurns } from './compaction/compaction-turns.service.js';
import { Downloads } from './downloads.service.js';
import { HubService } from './hub.service.js';
import { HubHealth, HubStorageHealth } from './hub-health.service.js';
import { HubStats } from './hub-stats.js';
import { HubIndex } from './index/hub-index.js';
import { HubListing } from './index/hub-listing.js';
import { PriceSeal } from './index/price-seal.js';
import { HubLimits } from './limits/hub-limits.service.js';
import { LinkStore } from './links/link-store.js';
import { ShareLinks } from './links/share-links.service.js';
import { UploadLinks } from './links/upload-links.service.js';
import { UploadStore } from './links/upload-store.js';
import { RetentionSweep } from './retention/retention-sweep.service.js';
import { createSales } from './sales/create-sales.js';
import { PaymentGateway } from './sales/payment-gateway.js';
import { PricingService } from './sales/pricing.service.js';
import { Sales } from './sales/sales.js';
import { SalesService } from './sales/sales.service.js';
import { createStorage } from './storage/create-storage.js';
import { StorageOpening } from './storage/storage-opening.js';
import { StorageProvider } from './storage/storage-provider.js';
import { V1Callers } from './v1/hub-v1.js';
import { V1BucketsController } from './v1/v1-buckets.controller.js';
import { V1ObjectsController } from './v1/v1-objects.controller.js';
import { V1TotalsController } from './v1/v1-totals.controller.js';

/** The file hub: storage, index and the interface of its clients. */
@Module({
  controllers: [
    ApiUploadController,
    ApiDownloadController,
    ApiConversationController,
    ApiListController,
    ApiInfoController,
    ApiObjectController,
    ApiSharedController,
    ApiIncomingController,
    ApiPriceController,
    ApiVersionController,
    ApiRetentionController,
    HubPageController,
    V1BucketsController,
    V1ObjectsController,
    V1TotalsController,
  ],
  providers: [
    { provide: StorageProvider, inject: [AppConfig, PinoLogger], useFactory: createStorage },
    {
      provide: HubIndex,
      inject: [HUB_REDIS, StorageProvider, PinoLogger, AppConfig],
      useFactory: async (
        redis: Redis,
        storage: StorageProvider,
        logger: PinoLogger,
        { hub }: AppConfig,
      ): Promise<HubIndex> => {
        const seal = new PriceSeal(hub.sales?.secret.reveal() ?? '');
        const index = new HubIndex(redis, logger, { seal, versions: hub.versions });
        await index.start(new StorageOpening(storage, logger));
        return index;
      },
    },
    HubListing,
    { provide: RecoverHubSigner, useValue: loadSignerRecovery().recoverSigner },
    HubStats,
    HubService,
    HubBuckets,
    Downloads,
    V1Callers,
    HubAccess,
    HubLimits,
    HubHealth,
    LinkStore,
    ShareLinks,
    RetentionSweep,
    CompactionTurns,
    UploadStore,
    UploadLinks,
    PricingService,
    {
      provide: Sales,
      inject: [
        AppConfig,
        HUB_REDIS,
        StorageProvider,
        PinoLogger,
        HubStats,
        HubService,
        HubLimits,
        { token: PaymentGateway, optional: true },
      ],
      useFactory: createSales,
    },
    SalesService,
  ],
  exports: [HubHealth, HubStats, HubService, HubListing],
})
export class HubModule implements OnApplicationShutdown {
  /** @param own - `PaymentGateway` and its dependencies, where the process itself verifies and settles. */
  static forRoot(
    { roles }: AppConfig,
    { imports = [], providers = [] }: Pick<DynamicModule, 'imports' | 'providers'>,
  ): DynamicModule {
    const isAlone = roles.size === 1;
    return {
      module: HubModule,
      imports,
      providers: [...providers, ...(isAlone ? [HubStorageHealth] : [])],
    };
  }

  constructor(private readonly index: HubIndex) {}

  /** The last upload was answered; another process may write from now on. */
  async onApplicationShutdown(): Promise<void> {
    await this.index.stop();
  }
}
