import { type DynamicModule, Module } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../../platform/config/app-config.js';
import { VERSION } from '../../platform/config/version.js';
import type { Tracing } from '../../platform/tracing/tracing.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import { ProcessesModule } from '../../settlement/ledger/processes.module.js';
import { JobObserver, NO_TRACES } from '../../settlement/queue/job-observer.js';
import { SettlementSpans } from './settlement-spans.js';

/** The {@link Tracing} of this process, if there is one. */
const TRACING = Symbol('TRACING');

/** Provides the observer of jobs, and starts the traces where a collector is configured. */
@Module({})
export class TracingModule {
  static forRoot({ traces, settles }: AppConfig): DynamicModule {
    if (traces === undefined) {
      const none = { provide: JobObserver, useValue: NO_TRACES };
      return { module: TracingModule, providers: [none], exports: [JobObserver] };
    }
    return {
      module: TracingModule,
      imports: [ProcessesModule, ...(settles ? [LedgerModule] : [])],
      providers: [
        {
          provide: TRACING,
          inject: [ProcessRegistry, PinoLogger],
          useFactory: async (
            { processId }: ProcessRegistry,
            logger: PinoLogger,
          ): Promise<Tracing> => {
            // A process without traces does not load the SDK.
            const sdk = await import('../../platform/tracing/tracing.js');
            return new sdk.Tracing(traces, { id: processId, version: VERSION }, (message) => {
              logger.warn(
                { trouble: message.slice(0, 500) },
                'the trace exporter reported a problem',
              );
            });
          },
        },
        ...(settles ? [{ provide: JobObserver, useClass: SettlementSpans }] : []),
      ],
      exports: settles ? [JobObserver] : [],
    };
  }
}
