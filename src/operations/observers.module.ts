import { type DynamicModule, Global, Module } from '@nestjs/common';
import type { AppConfig } from '../platform/config/app-config.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { TracingModule } from './tracing/tracing.module.js';

/** The observers of all rooms. Global, because rooms do not know the operations room: they inject their own tokens. */
@Global()
@Module({})
export class ObserversModule {
  /** @param measured - the modules of this process whose state is measured at each scrape. */
  static forRoot(
    config: AppConfig,
    measured: NonNullable<DynamicModule['imports']>,
  ): DynamicModule {
    const observers = [MetricsModule.forRoot(config, measured), TracingModule.forRoot(config)];
    return { module: ObserversModule, imports: observers, exports: observers };
  }
}
