import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { PinoLogger } from 'nestjs-pino';
import { Registry } from 'prom-client';
import { IndexingModule, learnsListings } from '../../discovery/learning/learning.module.js';
import { PaymentObserver } from '../../facilitator/payment-observer.js';
import { HistoryObserver } from '../../history/history-observer.js';
import { WebhookObserver } from '../../history/webhooks/webhook-observer.js';
import { RpcObserver } from '../../platform/chain/rpc/rpc-observer.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import { reconcilesDaily } from '../../platform/config/reconcile-config.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { fanOut } from '../../platform/observability/fan-out.js';
import { ResponseObserver } from '../../platform/observability/response-observer.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { LaneObserver } from '../../settlement/lanes/lane-observer.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { ProcessesModule } from '../../settlement/ledger/processes.module.js';
import { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import { WalletObserver } from '../../wallet/wallet-observer.js';
import { SettlingHealthModule } from '../health/settling-health.module.js';
import { SettleCounts } from '../settles/settle-counts.js';
import { TRACED_PAYMENTS } from '../tracing/traced-payments.js';
import { AssetLabels } from './asset-labels.js';
import { CatalogueGauges } from './catalogue-metrics.js';
import { DeploymentMetrics } from './deployment-metrics.js';
import { CountError, errorMetrics } from './error-metrics.js';
import { HistoryGauges, historyMetrics } from './history-metrics.js';
import { HubMetrics } from './hub-metrics.js';
import { laneMetrics } from './lane-metrics.js';
import { MetricsController } from './metrics.controller.js';
import { paymentMetrics } from './payment-metrics.js';
import { ReconciliationGauges } from './reconciliation-metrics.js';
import { RedisMetrics } from './redis-metrics.js';
import { responseMetrics } from './response-metrics.js';
import { rpcMetrics } from './rpc-metrics.js';
import { ScrapeService } from './scrape.service.js';
import { WalletGauges, walletMetrics } from './wallet-metrics.js';
import { WebhookGauges, webhookMetrics } from './webhook-metrics.js';

/** Provides the observers that other modules tell of their work, and serves what was counted. */
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
    const learns = learnsListings(config);
    return {
      module: MetricsModule,
      imports: [
        DiscoveryModule,
        ...(settles ? [SettlingHealthModule, LedgerModule, ProcessesModule] : []),
        ...(learns ? [IndexingModule] : []),
        ...measured,
      ],
      controllers: [MetricsController],
      providers: [
        Registry,
        RedisMetrics,
        { provide: CountError, inject: [Registry], useFactory: errorMetrics },
        observer(ResponseObserver, responseMetrics),
        ...(usesChains ? [observer(RpcObserver, rpcMetrics)] : []),
        ...(settles ? settlingProviders(config) : []),
        ...(hasHub ? [HubMetrics] : []),
        ...(hasHistory ? [HistoryGauges, observer(HistoryObserver, historyMetrics)] : []),
        ...(config.deliversWebhooks
          ? [WebhookGauges, observer(WebhookObserver, webhookMetrics)]
          : []),
        ...(learns ? [CatalogueGauges] : []),
        ...(reconciles ? [ReconciliationGauges] : []),
        ...(wallet === undefined ? [] : walletProviders(wallet)),
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
  return [
    {
      provide: PaymentObserver,
      inject: [Registry, CountError, SettleCounts],
      useFactory: (registry: Registry, countError: CountError, counts: SettleCounts) => {
        const metrics = paymentMetrics(registry, AssetLabels.of(config), countError);
        const counted: PaymentObserver = {
          verified: () => undefined,
          settled: (_, result, reason, _ms, caller) => {
            counts.count(result, reason, caller);
          },
        };
        const traced = config.traces === undefined ? [] : [TRACED_PAYMENTS];
        return fanOut([metrics, counted, ...traced], () => undefined);
      },
    },
    {
      provide: LaneObserver,
      inject: [Registry, LaneQueries, PinoLogger, CountError],
      useFactory: (
        registry: Registry,
        laneQueries: LaneQueries,
        logger: PinoLogger,
        countError: CountError,
      ) =>
        laneMetrics(
          registry,
          (chainId, ids) => waitsMs(laneQueries, chainId, ids, logger),
          countError,
        ),
    },
    DeploymentMetrics,
  ];
}

function walletProviders(wallet: WalletConfig): Provider[] {
  return [observer(WalletObserver, (registry) => walletMetrics(registry, wallet)), WalletGauges];
}

function observer(
  token: symbol,
  create: (registry: Registry, countError: CountError) => unknown,
): Provider {
  return { provide: token, inject: [Registry, CountError], useFactory: create };
}

/** A measurement is not worth a failure: while the ledger is away it is left out. */
async function waitsMs(
  laneQueries: LaneQueries,
  chainId: number,
  ids: readonly string[],
  logger: PinoLogger,
): Promise<readonly number[]> {
  try {
    return await laneQueries.waitsMs(chainId, ids);
  } catch (error) {
    if (!(error instanceof RedisUnavailableError)) logger.error({ err: error }, 'queue waits');
    return [];
  }
}
