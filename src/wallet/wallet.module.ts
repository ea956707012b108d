import { Module } from '@nestjs/common';
import { WalletApiModule } from './wallet-api.module.js';
import { WalletBudgetModule } from './wallet-budget.module.js';
import { WalletHealth, WalletProviderHealth } from './wallet-health.js';
import { WalletKeysModule } from './wallet-keys.module.js';
import { WalletPayModule } from './wallet-pay.module.js';
import { WalletStart } from './wallet-start.js';

/** Imported only where the role `wallet` is on and a provider is chosen. */
@Module({
  imports: [WalletKeysModule, WalletBudgetModule, WalletPayModule, WalletApiModule],
  providers: [WalletHealth, WalletProviderHealth, WalletStart],
  exports: [WalletHealth],
})
export class WalletModule {}
