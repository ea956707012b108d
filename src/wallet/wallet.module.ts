import { Global, Module } from '@nestjs/common';
import { provide } from '../platform/nest/provide.js';
import { HealthIndicators } from '../platform/observability/health-indicators.js';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { Journal } from './audit/journal.js';
import { Reconciler } from './budget/reconciler.js';
import { WalletFetch } from './pay/wallet-fetch.js';
import type { WalletProvider } from './provider/wallet-provider.js';
import { WalletApiModule } from './wallet-api.module.js';
import { WalletBudgetModule } from './wallet-budget.module.js';
import { WalletHealth } from './wallet-health.js';
import { WalletKeysModule } from './wallet-keys.module.js';
import { WalletPayModule } from './wallet-pay.module.js';
import { type StartedParts, WalletStart } from './wallet-start.js';
import { LINK_ENDING, WALLET_PROVIDER } from './wallet-tokens.js';

/** Imported only where the role `wallet` is on and a provider is chosen. */
@Global()
@Module({
  imports: [WalletKeysModule, WalletBudgetModule, WalletPayModule, WalletApiModule],
  providers: [
    {
      provide: WalletHealth,
      inject: [Journal, WALLET_PROVIDER],
      useFactory: (journal: Journal, provider: WalletProvider) =>
        new WalletHealth(journal, provider),
    },
    provide(
      WalletStart,
      {
        provider: WALLET_PROVIDER,
        journal: Journal,
        reconciler: Reconciler,
        ending: LINK_ENDING,
        fetcher: WalletFetch,
        directory: WalletDirectory,
        health: WalletHealth,
        indicators: HealthIndicators,
        redis: WALLET_REDIS,
      },
      (parts: StartedParts) => WalletStart.of(parts),
    ),
  ],
  exports: [WalletHealth],
})
export class WalletModule {}
