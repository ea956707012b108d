import { Module } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../config/app-config.js';
import { ChainRegistry } from './chain-registry.js';
import { RpcObserver } from './rpc/rpc-observer.js';
import { startChains } from './start-chains.js';

@Module({
  providers: [
    {
      provide: ChainRegistry,
      inject: [AppConfig, PinoLogger, RpcObserver],
      useFactory: startChains,
    },
  ],
  exports: [ChainRegistry],
})
export class ChainModule {}
