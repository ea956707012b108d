import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { PublicServer } from './public-server.js';
import { ShutdownOrder } from './shutdown-order.js';

@Module({
  imports: [DiscoveryModule],
  providers: [PublicServer, ShutdownOrder],
})
export class LifecycleModule {}
