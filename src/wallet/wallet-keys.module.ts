import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../platform/chain/chain-registry.js';
import { AppConfig } from '../platform/config/app-config.js';
import type { WalletConfig } from '../platform/config/wallet-settings.js';
import { loadSignerRecovery } from '../platform/crypto/recover-signer.js';
import { provide } from '../platform/nest/provide.js';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import type { RecoverSigner } from '../protocol/schemes/verdict.js';
import { Keystore } from './provider/local/keystore.js';
import { LocalProvider } from './provider/local/local-provider.js';
import { policyRules } from './provider/privy/privy-policy.js';
import { TransactionSender } from './provider/transaction-sender.js';
import type { WalletProvider } from './provider/wallet-provider.js';
import { RedisLock } from './redis-lock.js';
import { KeyRing } from './seal/key-ring.js';
import { RecordSeal } from './seal/record-seal.js';
import { knownContracts } from './signing/known-contracts.js';
import { WalletObserver } from './wallet-observer.js';
import {
  KNOWN_CONTRACTS,
  RECOVER_WALLET_SIGNER,
  type UpkeepFailed,
  WALLET_CLOCK,
  WALLET_PROVIDER,
  WALLET_SETTINGS,
  WALLET_UPKEEP_FAILED,
} from './wallet-tokens.js';

interface ProviderParts {
  readonly wallet: WalletConfig;
  readonly chains: ChainRegistry;
  readonly sender: TransactionSender;
  readonly recoverSigner: RecoverSigner;
  readonly observer: WalletObserver;
  readonly onFailure: UpkeepFailed;
}

async function createProvider(parts: ProviderParts): Promise<WalletProvider> {
  const { chains, sender, recoverSigner, observer, onFailure } = parts;
  const { provider, assets, maxPerPayment, hub } = parts.wallet;
  if (provider.kind === 'local') {
    return new LocalProvider(new Keystore(provider.dir, provider.secret), sender, onFailure);
  }
  const networks = chains.all.map(({ config }) => config);
  const { extraMethods } = provider;
  const rules = policyRules({ assets, networks, maxPerPayment, extraMethods, hub: hub?.address });
  // Its SDK is large, and for those who use it.
  const { PrivyProvider } = await import('./provider/privy/privy-provider.js');
  return new PrivyProvider(provider, rules, sender, recoverSigner, observer);
}

/** Who holds keys, what is sealed, and what a signature may be about. */
@Module({
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
    { provide: RECOVER_WALLET_SIGNER, useFactory: () => loadSignerRecovery().recoverSigner },
    {
      provide: WALLET_UPKEEP_FAILED,
      inject: [PinoLogger],
      useFactory:
        (logger: PinoLogger): UpkeepFailed =>
        (err) => {
          logger.warn({ err }, 'upkeep of the wallet could not be done; it is tried again');
        },
    },
    {
      provide: RecordSeal,
      inject: [WALLET_SETTINGS],
      useFactory: ({ sealSecret }: WalletConfig) =>
        new RecordSeal(new KeyRing(sealSecret, 'redis-records')),
    },
    {
      provide: RedisLock,
      inject: [WALLET_REDIS],
      useFactory: (redis: Redis) => new RedisLock(redis),
    },
    {
      provide: TransactionSender,
      inject: [ChainRegistry, WALLET_REDIS, RedisLock, RecordSeal],
      useFactory: (chains: ChainRegistry, redis: Redis, locks: RedisLock, seal: RecordSeal) =>
        new TransactionSender(chains, redis, locks, seal),
    },
    {
      provide: KNOWN_CONTRACTS,
      inject: [WALLET_SETTINGS, ChainRegistry],
      useFactory: ({ assets }: WalletConfig, chains: ChainRegistry) =>
        knownContracts(assets, chains),
    },
    provide(
      WALLET_PROVIDER,
      {
        wallet: WALLET_SETTINGS,
        chains: ChainRegistry,
        sender: TransactionSender,
        recoverSigner: RECOVER_WALLET_SIGNER,
        observer: WalletObserver,
        onFailure: WALLET_UPKEEP_FAILED,
      },
      createProvider,
    ),
  ],
  exports: [
    WALLET_SETTINGS,
    WALLET_CLOCK,
    RECOVER_WALLET_SIGNER,
    WALLET_UPKEEP_FAILED,
    RecordSeal,
    RedisLock,
    KNOWN_CONTRACTS,
    WALLET_PROVIDER,
  ],
})
export class WalletKeysModule {}
