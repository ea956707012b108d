import { Module } from '@nestjs/common';
import { ChainModule } from '../platform/chain/chain.module.js';
import { ChainRegistry } from '../platform/chain/chain-registry.js';
import { AppConfig } from '../platform/config/app-config.js';
import type { WalletConfig } from '../platform/config/wallet-settings.js';
import { loadSignerRecovery } from '../platform/crypto/recover-signer.js';
import type { RecoverSigner } from '../protocol/schemes/verdict.js';
import { Keystore } from './provider/local/keystore.js';
import { LocalProvider } from './provider/local/local-provider.js';
import { policyRules } from './provider/privy/privy-policy.js';
import { TransactionSender } from './provider/transaction-sender.js';
import type { WalletProvider } from './provider/wallet-provider.js';
import { RedisLock } from './redis-lock.js';
import { RecordSeal } from './seal/record-seal.js';
import { WalletContracts } from './signing/known-contracts.js';
import { UpkeepLog } from './upkeep-log.js';
import { WalletObserver } from './wallet-observer.js';
import {
  KNOWN_CONTRACTS,
  RECOVER_WALLET_SIGNER,
  WALLET_CLOCK,
  WALLET_PROVIDER,
  WALLET_SETTINGS,
} from './wallet-tokens.js';

/** Key providers, seals and typed data of the wallet. */
@Module({
  imports: [ChainModule],
  providers: [
    {
      provide: WALLET_SETTINGS,
      inject: [AppConfig],
      useFactory: ({ wallet }: AppConfig): WalletConfig => {
        if (wallet === undefined) throw new TypeError('the wallet is off');
        return wallet;
      },
    },
    { provide: WALLET_CLOCK, useValue: () => Math.floor(Date.now() / 1000) },
    { provide: RECOVER_WALLET_SIGNER, useValue: loadSignerRecovery().recoverSigner },
    UpkeepLog,
    RecordSeal,
    RedisLock,
    TransactionSender,
    { provide: KNOWN_CONTRACTS, useClass: WalletContracts },
    {
      provide: WALLET_PROVIDER,
      inject: [
        WALLET_SETTINGS,
        ChainRegistry,
        TransactionSender,
        RECOVER_WALLET_SIGNER,
        WalletObserver,
        UpkeepLog,
      ],
      useFactory: async (
        { provider, assets, maxPerPayment, hub }: WalletConfig,
        chains: ChainRegistry,
        sender: TransactionSender,
        recoverSigner: RecoverSigner,
        observer: WalletObserver,
        upkeep: UpkeepLog,
      ): Promise<WalletProvider> => {
        if (provider.kind === 'local') {
          return new LocalProvider(
            new Keystore(provider.dir, provider.secret),
            sender,
            upkeep.failed,
          );
        }
        const networks = chains.all.map(({ config }) => config);
        const { extraMethods } = provider;
        const rules = policyRules({
          assets,
          networks,
          maxPerPayment,
          extraMethods,
          hub: hub?.address,
        });
        // Its SDK is large, so it is loaded only where it is used.
        const { PrivyProvider } = await import('./provider/privy/privy-provider.js');
        return new PrivyProvider(provider, rules, sender, recoverSigner, observer);
      },
    },
  ],
  exports: [
    WALLET_SETTINGS,
    WALLET_CLOCK,
    RECOVER_WALLET_SIGNER,
    UpkeepLog,
    RecordSeal,
    RedisLock,
    KNOWN_CONTRACTS,
    WALLET_PROVIDER,
  ],
})
export class WalletKeysModule {}
