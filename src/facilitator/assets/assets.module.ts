import { Module, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { ChainModule } from '../../platform/chain/chain.module.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { AssetDirectory } from './asset-directory.js';
import { AssetsV2Controller } from './assets.v2.controller.js';
import { knownAssetsOf } from './known-assets.js';

@Module({
  imports: [ChainModule],
  controllers: [AssetsV2Controller],
  providers: [
    {
      provide: AssetDirectory,
      inject: [AppConfig, ChainRegistry, PinoLogger],
      useFactory: (config: AppConfig, chains: ChainRegistry, logger: PinoLogger) =>
        new AssetDirectory({
          assets: config.networks.flatMap((network) => knownAssetsOf(network, config)),
          chainOf: (chainId) => chains.served(chainId),
          clock: systemClock,
          onFault: (error, { chainId, asset }) => {
            logger.warn(
              { err: error, chainId, asset },
              'could not read a token contract (name, symbol, decimals)',
            );
          },
        }),
    },
  ],
  exports: [AssetDirectory],
})
export class AssetsModule implements OnModuleInit, OnModuleDestroy {
  constructor(private readonly directory: AssetDirectory) {}

  onModuleInit(): void {
    this.directory.start();
  }

  onModuleDestroy(): void {
    this.directory.stop();
  }
}
