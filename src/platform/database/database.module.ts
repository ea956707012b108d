import { Module } from '@nestjs/common';
import { DatabasePools } from './database-pools.js';

@Module({ providers: [DatabasePools], exports: [DatabasePools] })
export class DatabaseModule {}
