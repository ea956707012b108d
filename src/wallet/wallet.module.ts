import { type DynamicModule, Global, Module, type Provider } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../platform/chain/chain-registry.js';
import { AppConfig } from '../platform/config/app-config.js';
import type { WalletConfig } from '../platform/config/wallet-settings.js';
import { loadSignerRecovery } from '../platform/crypto/recover-signer.js';
import { JsonBodyReader } from '../platform/http/request-body.js';
import { provide } from '../platform/nest/provide.js';
import {
  HealthIndicators,
  INDICATOR_TIMEOUT_MS,
} from '../platform/observability/health-indicators.js';
import { RateLimiter } from '../platform/rate-limit/rate-limiter.js';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { DeviceCodes } from './auth/device-codes.js';
import { Sessions } from './auth/sessions.js';
import { SignIn } from './auth/sign-in.js';
import { ApprovalService } from './http/approval.service.js';
import { ApprovalPageController } from './http/approval-page.controller.js';
import { PolicyService } from './http/policy.service.js';
import { SignInV1Controller } from './http/sign-in.v1.controller.js';
import { WalletAuthGuard } from './http/wallet-auth.guard.js';
import { WalletsV1Controller } from './http/wallets.v1.controller.js';
import { McpController } from './mcp/mcp.controller.js';
import { WalletRpc } from './signing/rpc.js';
import { WalletToolsService } from './tools/wallet-tools.service.js';
import { WalletHealth } from './wallet-health.js';
import { WalletObserver } from './wallet-observer.js';
import { assembleWallet, type WalletParts } from './wallet-parts.js';

/** Everything of the wallet, started; its parts are provided one by one from here. */
export const WALLET_PARTS = Symbol('WALLET_PARTS');

/** Imported only where the role `wallet` is on and a provider is chosen. */
@Global()
@Module({})
export class WalletModule {
  static forRoot(wallet: WalletConfig): DynamicModule {
    return {
      module: WalletModule,
      controllers: [ApprovalPageController, SignInV1Controller, WalletsV1Controller, McpController],
      providers: [
        provide(
          WALLET_PARTS,
          {
            ...{ config: AppConfig, redis: WALLET_REDIS, chains: ChainRegistry },
            ...{ logger: PinoLogger, observer: WalletObserver, indicators: HealthIndicators },
          },
          (around: Surroundings): Promise<StartedWallet> => start(wallet, around),
        ),
        part(DeviceCodes, ({ codes }) => codes),
        part(SignIn, ({ signIn }) => signIn),
        part(Sessions, ({ sessions }) => sessions),
        part(RateLimiter, ({ rateLimiter }) => rateLimiter),
        part(WalletDirectory, ({ directory }) => directory),
        part(WalletToolsService, ({ walletTools }) => walletTools),
        part(WalletHealth, ({ health }) => health),
        part(WalletRpc, ({ rpc }) => rpc),
        part(PolicyService, ({ policies }) => policies),
        JsonBodyReader,
        ApprovalService,
        WalletAuthGuard,
      ],
      exports: [WalletHealth],
    };
  }
}

/** Ends with the application. */
class StartedWallet {
  constructor(readonly parts: WalletParts) {}

  async onModuleDestroy(): Promise<void> {
    const { provider, reconciler, fetcher, journal } = this.parts;
    provider.stop();
    reconciler.stop();
    await fetcher.close();
    await journal.close();
  }
}

interface Surroundings {
  readonly config: AppConfig;
  readonly redis: Redis;
  readonly chains: ChainRegistry;
  readonly logger: PinoLogger;
  readonly observer: WalletObserver;
  readonly indicators: HealthIndicators;
}

async function start(
  wallet: WalletConfig,
  { config, redis, chains, logger, observer, indicators }: Surroundings,
): Promise<StartedWallet> {
  const { retentionSeconds } = config;
  const parts = assembleWallet(wallet, {
    ...{ redis, chains, retentionSeconds, observer },
    recoverSigner: loadSignerRecovery().recoverSigner,
    now: () => Math.floor(Date.now() / 1000),
    onFailure: (err) => {
      logger.warn({ err }, 'upkeep of the wallet could not be done; it is tried again');
    },
  });
  await parts.provider.start();
  await parts.journal.open();
  parts.journal.start();
  parts.reconciler.start();
  const { health } = parts;
  indicators.add({
    name: 'wallet_journal',
    timeoutMs: INDICATOR_TIMEOUT_MS,
    // Without it every answer of the wallet is a refusal: others may have a journal that works.
    gatesReadiness: true,
    report: () => health.journalReport(),
  });
  indicators.add({
    name: 'wallet_provider',
    timeoutMs: INDICATOR_TIMEOUT_MS,
    report: () => Promise.resolve(health.providerReport()),
  });
  redis.on('ready', () => {
    parts.directory.noteReconnect();
  });
  return new StartedWallet(parts);
}

function part<T>(
  provide: abstract new (...args: never[]) => T,
  pick: (parts: WalletParts) => T,
): Provider {
  return {
    provide,
    inject: [WALLET_PARTS],
    useFactory: ({ parts }: StartedWallet): T => pick(parts),
  };
}
