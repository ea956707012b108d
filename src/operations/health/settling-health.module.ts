import { Module } from '@nestjs/common';
import { ChainModule } from '../../platform/chain/chain.module.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { ProcessesModule } from '../../settlement/ledger/processes.module.js';
import { SettleCounts } from '../settles/settle-counts.js';
import { ConditionLog } from './condition-log.js';
import { DeploymentReport } from './deployment-report.js';
import {
  LanesHealth,
  NetworksHealth,
  QueuesHealth,
  SettlesHealth,
  UnclaimedHealth,
} from './settling-health.js';

/** Indicators of the roles that settle: networks, lanes and queue of the whole deployment. */
@Module({
  imports: [ChainModule, LedgerModule, ProcessesModule],
  providers: [
    DeploymentReport,
    SettleCounts,
    ConditionLog,
    NetworksHealth,
    LanesHealth,
    QueuesHealth,
    UnclaimedHealth,
    SettlesHealth,
  ],
  exports: [DeploymentReport, SettleCounts],
})
export class SettlingHealthModule {}
