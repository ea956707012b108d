import { Module } from '@nestjs/common';
import { ChainModule } from '../../platform/chain/chain.module.js';
import { AssetDirectory } from './asset-directory.js';
import { AssetsV2Controller } from './assets.v2.controller.js';
import { KnownAssets } from './known-assets.js';

@Module({
  imports: [ChainModule],
  controllers: [AssetsV2Controller],
  providers: [KnownAssets, AssetDirectory],
  exports: [AssetDirectory],
})
export class AssetsModule {}
