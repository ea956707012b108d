import { Global, Module } from '@nestjs/common';
import { DatabasePools } from './database-pools.js';

@Global()
@Module({ providers: [DatabasePools], exports: [DatabasePools] })
export class DatabaseModule {}
