import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { OpsGuard } from './ops.js';
import { OpsServer } from './ops-server.js';
import { OtherMethods } from './other-methods.js';

/** To be imported before other guards: what is not there asks for no key. */
@Module({
  imports: [DiscoveryModule],
  providers: [{ provide: APP_GUARD, useClass: OpsGuard }, OpsServer, OtherMethods],
})
export class OpsModule {}
