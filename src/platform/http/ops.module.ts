import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import { OpsGuard } from './ops.js';
import { OpsServer } from './ops-server.js';
import { OtherMethods } from './other-methods.js';

/**
 * Import this before other guards, so that routes of operators do not exist on the public port, instead of requiring
 * a key.
 */
@Module({
  imports: [DiscoveryModule],
  providers: [{ provide: APP_GUARD, useClass: OpsGuard }, OpsServer, OtherMethods],
})
export class OpsModule {}
