import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { LoggerModule } from 'nestjs-pino';
import { DiscoveryModule } from './discovery/discovery.module.js';
import { DISCOVERY_OPENAPI } from './discovery/discovery.openapi.js';
import { indexesListings, IndexingModule } from './discovery/indexing/indexing.module.js';
import { AssetDirectory } from './facilitator/assets/asset-directory.js';
import { AssetsModule } from './facilitator/assets/assets.module.js';
import { DoctorModule } from './facilitator/doctor/doctor.module.js';
import { DOCTOR_OPENAPI } from './facilitator/doctor/doctor.openapi.js';
import { FacilitatorModule } from './facilitator/facilitator.module.js';
import { FACILITATOR_OPENAPI } from './facilitator/openapi/facilitator.openapi.js';
import { ArchiveModule } from './history/archive.module.js';
import { AuditModule } from './history/audit.module.js';
import { HistoryModule } from './history/history.module.js';
import { endsLost, LostModule } from './history/lost.module.js';
import { ReconciliationModule } from './history/reconciliation.module.js';
import { SellersModule } from './history/sellers/sellers.module.js';
import { SELLERS_OPENAPI } from './history/sellers/sellers.openapi.js';
import { KnownTokens } from './history/stats/known-tokens.js';
import { StatsModule } from './history/stats/stats.module.js';
import { WebhooksModule } from './history/webhooks/webhooks.module.js';
import { WEBHOOKS_OPENAPI } from './history/webhooks/webhooks.openapi.js';
import { PaymentGateway } from './hub/sales/payment-gateway.js';
import { InProcessGateway } from './in-process-gateway.js';
import { AccessModule } from './operations/access/access.module.js';
import { ApiKeysModule } from './operations/access/api-keys.module.js';
import { AdminModule } from './operations/admin/admin.module.js';
import { ADMIN_OPENAPI } from './operations/admin/admin.openapi.js';
import { HealthModule } from './operations/health/health.module.js';
import { HEALTH_OPENAPI } from './operations/health/health.openapi.js';
import { ObserversModule } from './operations/observers.module.js';
import { isOpen } from './platform/config/access-settings.js';
import type { AppConfig } from './platform/config/app-config.js';
import { ConfigModule } from './platform/config/config.module.js';
import { reconcilesDaily } from './platform/config/reconcile-config.js';
import { ErrorFilter } from './platform/http/error.filter.js';
import { HttpModule } from './platform/http/http.module.js';
import { OpsModule } from './platform/http/ops.module.js';
import { LifecycleModule } from './platform/lifecycle/lifecycle.module.js';
import { logging } from './platform/observability/logging.js';
import { OpenApiModule } from './platform/openapi/openapi.module.js';
import { QueueModule } from './platform/queue/queue.module.js';
import { RedisModule } from './platform/redis/redis.module.js';
import { hubParts, walletParts } from './role-modules.js';
import { LanesModule } from './settlement/lanes/lanes.module.js';
import { ProcessesModule } from './settlement/ledger/processes.module.js';

/** The modules a process needs for its roles, and no others; the code of hub and wallet is loaded where they are. */
@Module({})
export class AppModule {
  static async forRoot(config: AppConfig): Promise<DynamicModule> {
    const isApi = config.hasRole('api');
    const isWorker = config.hasRole('worker');
    const { apiKeysFile } = config.access;
    const hasStats = isApi && config.hasPublicStats;
    const hasDoctor = isApi && config.doctor !== undefined;
    const hasWebhooks = config.deliversWebhooks || (isApi && config.webhooks !== undefined);
    const discovery = isApi ? [DiscoveryModule.forRoot(config)] : [];
    const sellers = isApi ? [SellersModule.forRoot(config)] : [];
    const facilitator = isApi
      ? [given(FacilitatorModule.forRoot(config), [...discovery, ...sellers])]
      : [];
    const history = config.usesLedger ? [HistoryModule.forRoot(config)] : [];
    const webhooks = hasWebhooks ? [given(WebhooksModule.forRoot(config), [ApiKeysModule])] : [];
    const reconciliation = reconcilesDaily(config) ? [ReconciliationModule] : [];
    const hasOperators = apiKeysFile !== undefined && config.ops !== undefined;
    const hasOperatorPage = isApi && hasOperators;
    const hubOwn = config.hasRole('hub') ? gatewayBy(facilitator) : undefined;
    const hub = await hubParts(config, hubOwn, hasOperators);
    const wallet = await walletParts(config.wallet);
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        LoggerModule.forRoot(logging(config)),
        HttpModule,
        RedisModule,
        LifecycleModule,
        // Guards run in this order: what there is, then who asks and how often.
        OpsModule,
        ...(apiKeysFile === undefined ? [] : [ApiKeysModule]),
        ...(isOpen(config.access) ? [] : [AccessModule.forRoot(config)]),
        ProcessesModule,
        HealthModule,
        ObserversModule.forRoot(config, [
          ...history,
          ...webhooks,
          ...reconciliation,
          ...hub.modules,
          ...wallet.modules,
        ]),
        ...(config.usesLedger ? [QueueModule.forRoot(config), ArchiveModule.forRoot(config)] : []),
        ...history,
        ...discovery,
        ...(indexesListings(config) ? [IndexingModule] : []),
        ...webhooks,
        ...(config.hasRole('history') ? [AuditModule] : []),
        ...(endsLost(config) ? [LostModule.forRoot(config)] : []),
        ...reconciliation,
        ...(isWorker ? [LanesModule.forRoot(config)] : []),
        ...sellers,
        ...facilitator,
        ...(hasStats ? [withKnownTokens(StatsModule.forRoot(config))] : []),
        ...(hasDoctor ? [DoctorModule] : []),
        ...hub.modules,
        ...(hasOperatorPage ? [given(AdminModule.forRoot(config), facilitator)] : []),
        ...wallet.modules,
        OpenApiModule.forRoot([
          ...(isApi ? [FACILITATOR_OPENAPI, SELLERS_OPENAPI] : []),
          ...(isApi ? [DISCOVERY_OPENAPI] : []),
          ...(hasDoctor ? [DOCTOR_OPENAPI] : []),
          ...(isApi && hasWebhooks ? [WEBHOOKS_OPENAPI] : []),
          ...hub.openapi,
          ...wallet.openapi,
          HEALTH_OPENAPI,
          ...hub.operatorsOpenapi,
          ...(hasOperatorPage ? [ADMIN_OPENAPI] : []),
        ]),
      ],
      providers: [{ provide: APP_FILTER, useClass: ErrorFilter }],
    };
  }
}

/** The totals know the tokens that the facilitator knows. */
function withKnownTokens(stats: DynamicModule): DynamicModule {
  const tokens = { provide: KnownTokens, useExisting: AssetDirectory };
  return given({ ...stats, providers: [...(stats.providers ?? []), tokens] }, [AssetsModule]);
}

/** A module, and others that serve it and that it does not know. */
function given(
  module: DynamicModule,
  served: NonNullable<DynamicModule['imports']>,
): DynamicModule {
  return { ...module, imports: [...(module.imports ?? []), ...served] };
}

/** The hub sells by the facilitator beside it, where there is one and no other is named. */
function gatewayBy(facilitator: DynamicModule[]): Pick<DynamicModule, 'imports' | 'providers'> {
  if (facilitator.length === 0) return {};
  return {
    imports: facilitator,
    providers: [{ provide: PaymentGateway, useClass: InProcessGateway }],
  };
}
