import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Clock, systemClock } from '../concurrency/clock.js';
import { AppConfig } from './app-config.js';

@Global()
@Module({})
export class ConfigModule {
  static forRoot(config: AppConfig): DynamicModule {
    return {
      module: ConfigModule,
      providers: [
        { provide: AppConfig, useValue: config },
        { provide: Clock, useValue: systemClock },
      ],
      exports: [AppConfig, Clock],
    };
  }
}
