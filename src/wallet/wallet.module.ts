import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../chain/chain-registry.js';
import { AppConfig } from '../config/app-config.js';
import type { WalletConfig } from '../config/wallet-settings.js';
import { loadSignerRecovery } from '../crypto/recover-signer.js';
import { JsonBodyReader } from '../http/request-body.js';
import { LEDGER_REDIS } from '../redis/redis.module.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { DeviceCodes } from './auth/device-codes.js';
import { RateLimit } from './auth/rate-limit.js';
import { Sessions } from './auth/sessions.js';
import { SignIn } from './auth/sign-in.js';
import { DeskService } from './desk/desk.service.js';
import { ApprovalPageController } from './http/approval-page.controller.js';
import { ApprovalService } from './http/approval.service.js';
import { Gate } from './http/gate.service.js';
import { PolicyService } from './http/policy.service.js';
import { SignInV1Controller } from './http/sign-in.v1.controller.js';
import { WalletsV1Controller } from './http/wallets.v1.controller.js';
import { McpController } from './mcp/mcp.controller.js';
import { WalletRpc } from './signing/rpc.js';
import { assembleWallet, type WalletParts } from './wallet-parts.js';

/** Everything of the wallet, started; its parts are provided one by one from here. */
export const WALLET_PARTS = Symbol('WALLET_PARTS');

/** Imported only where the role `wallet` is on and a provider is chosen. */
@Module({})
export class WalletModule {
  static forRoot(wallet: WalletConfig): DynamicModule {
    return {
      module: WalletModule,
      controllers: [ApprovalPageController, SignInV1Controller, WalletsV1Controller, McpController],
      providers: [
        {
          provide: WALLET_PARTS,
          inject: [AppConfig, LEDGER_REDIS, ChainRegistry, PinoLogger],
          useFactory: (
            config: AppConfig,
            redis: Redis,
            chains: ChainRegistry,
            logger: PinoLogger,
          ): Promise<StartedWallet> => start(wallet, config, redis, chains, logger),
        },
        part(DeviceCodes, ({ codes }) => codes),
        part(SignIn, ({ signIn }) => signIn),
        part(Sessions, ({ sessions }) => sessions),
        part(RateLimit, ({ rateLimit }) => rateLimit),
        part(WalletDirectory, ({ directory }) => directory),
        part(DeskService, ({ desks }) => desks),
        part(WalletRpc, ({ rpc }) => rpc),
        part(PolicyService, ({ policies }) => policies),
        JsonBodyReader,
        ApprovalService,
        Gate,
      ],
    };
  }
}

/** Ends with the application. */
class StartedWallet {
  constructor(readonly parts: WalletParts) {}

  async onModuleDestroy(): Promise<void> {
    const { reconciler, fetcher, journal } = this.parts;
    reconciler.stop();
    await fetcher.close();
    await journal.close();
  }
}

async function start(
  wallet: WalletConfig,
  { retentionSeconds }: AppConfig,
  redis: Redis,
  chains: ChainRegistry,
  logger: PinoLogger,
): Promise<StartedWallet> {
  const parts = assembleWallet(wallet, {
    ...{ redis, chains, retentionSeconds },
    recoverSigner: loadSignerRecovery().recoverSigner,
    now: () => Math.floor(Date.now() / 1000),
    onFailure: (err) => {
      logger.warn({ err }, 'what wallets have spent could not be looked up; it is tried again');
    },
  });
  await parts.provider.start();
  await parts.journal.open();
  parts.reconciler.start();
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
