import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Registry } from 'prom-client';
import { indexesListings, IndexingModule } from '../../discovery/indexing/indexing.module.js';
import { PaymentObserver } from '../../facilitator/payment-observer.js';
import { HistoryObserver } from '../../history/history-observer.js';
import { WebhookObserver } from '../../history/webhooks/webhook-observer.js';
import { RpcObserver } from '../../platform/chain/rpc/rpc-observer.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import { reconcilesDaily } from '../../platform/config/reconcile-config.js';
import { fanOut } from '../../platform/observability/fan-out.js';
import { ResponseObserver } from '../../platform/observability/response-observer.js';
import { LaneObserver } from '../../settlement/lanes/lane-observer.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { ProcessesModule } from '../../settlement/ledger/processes.module.js';
import { WalletObserver } from '../../wallet/wallet-observer.js';
import { SettlingHealthModule } from '../health/settling-health.module.js';
import { SettleCounts } from '../settles/settle-counts.js';
import { TRACED_PAYMENTS } from '../tracing/traced-payments.js';
import { AssetLabels } from './asset-labels.js';
import { CatalogueGauges } from './catalogue-metrics.js';
import { DeploymentMetrics } from './deployment-metrics.js';
import { ErrorMetrics } from './error-metrics.js';
import { HistoryGauges, HistoryMetrics } from './history-metrics.js';
import { HubMetrics } from './hub-metrics.js';
import { LaneMetrics } from './lane-metrics.js';
import { MetricsController } from './metrics.controller.js';
import { PaymentMetrics } from './payment-metrics.js';
import { ReconciliationGauges } from './reconciliation-metrics.js';
import { RedisMetrics } from './redis-metrics.js';
import { ResponseMetrics } from './response-metrics.js';
import { RpcMetrics } from './rpc-metrics.js';
import { ScrapeService } from './scrape.service.js';
import { WalletGauges, WalletMetrics } from './wallet-metrics.js';
import { WebhookGauges, WebhookMetrics } from './webhook-metrics.js';

/** Provides the observers of other modules, and serves the collected metrics. */
@Module({})
export class MetricsModule {
  /** The roles of this process decide which metrics exist. */
  static forRoot(
    config: AppConfig,
    measured: NonNullable<DynamicModule['imports']>,
  ): DynamicModule {
    const { settles, usesChains, wallet } = config;
    const reconciles = reconcilesDaily(config);
    const hasHub = config.hasRole('hub');
    const hasHistory = config.history !== undefined && config.usesLedger;
    const indexes = indexesListings(config);
    return {
      module: MetricsModule,
      imports: [
        DiscoveryModule,
        ...(settles ? [SettlingHealthModule, LedgerModule, ProcessesModule] : []),
        ...(indexes ? [IndexingModule] : []),
        ...measured,
      ],
      controllers: [MetricsController],
      providers: [
        Registry,
        RedisMetrics,
        ErrorMetrics,
        { provide: ResponseObserver, useClass: ResponseMetrics },
        ...(usesChains ? [{ provide: RpcObserver, useClass: RpcMetrics }] : []),
        ...(settles ? settlingProviders(config) : []),
        ...(hasHub ? [HubMetrics] : []),
        ...(hasHistory
          ? [HistoryGauges, { provide: HistoryObserver, useClass: HistoryMetrics }]
          : []),
        ...(config.deliversWebhooks
          ? [WebhookGauges, { provide: WebhookObserver, useClass: WebhookMetrics }]
          : []),
        ...(indexes ? [CatalogueGauges] : []),
        ...(reconciles ? [ReconciliationGauges] : []),
        ...(wallet === undefined
          ? []
          : [WalletGauges, { provide: WalletObserver, useClass: WalletMetrics }]),
        ScrapeService,
      ],
      exports: [
        ResponseObserver,
        ...(usesChains ? [RpcObserver] : []),
        ...(settles ? [PaymentObserver, LaneObserver] : []),
        ...(hasHistory ? [HistoryObserver] : []),
        ...(config.deliversWebhooks ? [WebhookObserver] : []),
        ...(wallet === undefined ? [] : [WalletObserver]),
      ],
    };
  }
}

function settlingProviders(config: AppConfig): Provider[] {
  const { traces } = config;
  return [
    { provide: AssetLabels, useValue: AssetLabels.of(config) },
    PaymentMetrics,
    {
      provide: PaymentObserver,
      inject: [PaymentMetrics, SettleCounts],
      useFactory: (metrics: PaymentMetrics, counts: SettleCounts): PaymentObserver =>
        fanOut<PaymentObserver>(
          [metrics, counts, ...(traces === undefined ? [] : [TRACED_PAYMENTS])],
          () => undefined,
        ),
    },
    { provide: LaneObserver, useClass: LaneMetrics },
    DeploymentMetrics,
  ];
}
