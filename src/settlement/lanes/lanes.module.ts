import { type DynamicModule, Module } from '@nestjs/common';
import { ChainModule } from '../../platform/chain/chain.module.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import { logged } from '../../platform/observability/logged.js';
import { LedgerModule } from '../ledger/ledger.module.js';
import { ProcessesModule } from '../ledger/processes.module.js';
import { SettlementConsumers, settlementProcessorsFor } from '../queue/settlement.processor.js';
import { laneLog } from './lane-log.js';
import { LaneObserver, LOGGED_LANES } from './lane-observer.js';
import { LaneShutdown } from './lane-shutdown.js';
import { Lanes, LanesParts } from './lanes.js';

@Module({
  imports: [ChainModule, LedgerModule, ProcessesModule],
  providers: [
    logged(LOGGED_LANES, LaneObserver, laneLog),
    LanesParts,
    {
      provide: Lanes,
      inject: [LanesParts],
      useFactory: async (parts: LanesParts): Promise<Lanes> => {
        const lanes = new Lanes(parts);
        await lanes.start();
        return lanes;
      },
    },
    LaneShutdown,
    SettlementConsumers,
  ],
  exports: [Lanes],
})
export class LanesModule {
  static forRoot({ networks }: AppConfig): DynamicModule {
    return {
      module: LanesModule,
      providers: networks.flatMap(({ chainId }) => [...settlementProcessorsFor(chainId)]),
    };
  }
}
