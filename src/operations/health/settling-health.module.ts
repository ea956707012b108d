import { Module } from '@nestjs/common';
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
