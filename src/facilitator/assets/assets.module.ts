import { Module } from '@nestjs/common';
import { ChainModule } from '../../platform/chain/chain.module.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { AssetDirectory } from './asset-directory.js';
import { AssetsV2Controller } from './assets.v2.controller.js';
import { KNOWN_ASSETS, knownAssetsOf } from './known-assets.js';

@Module({
  imports: [ChainModule],
  controllers: [AssetsV2Controller],
  providers: [
    {
      provide: KNOWN_ASSETS,
      inject: [AppConfig],
      useFactory: (config: AppConfig) =>
        config.networks.flatMap((network) => knownAssetsOf(network, config)),
    },
    AssetDirectory,
  ],
  exports: [AssetDirectory],
})
export class AssetsModule {}
