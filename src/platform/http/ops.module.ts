import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { OpsGuard } from './ops.js';
import { OpsServer } from './ops-server.js';

/** To be imported before other guards: what is not there asks for no key. */
@Module({ providers: [{ provide: APP_GUARD, useClass: OpsGuard }, OpsServer] })
export class OpsModule {}
