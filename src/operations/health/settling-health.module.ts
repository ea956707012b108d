import { Module, type OnModuleInit } from '@nestjs/common';
import {
  HealthIndicators,
  INDICATOR_TIMEOUT_MS,
} from '../../platform/observability/health-indicators.js';
import { SettleCounts } from '../settles/settle-counts.js';
import { DeploymentReport } from './deployment-report.js';
import { TroubleLog } from './trouble-log.js';

/** Indicators of the roles that settle: networks, lanes and queue of the whole deployment. */
@Module({
  providers: [DeploymentReport, SettleCounts, TroubleLog],
  exports: [DeploymentReport, SettleCounts],
})
export class SettlingHealthModule implements OnModuleInit {
  constructor(
    private readonly indicators: HealthIndicators,
    private readonly deployment: DeploymentReport,
    private readonly settles: SettleCounts,
  ) {}

  onModuleInit(): void {
    const timeoutMs = INDICATOR_TIMEOUT_MS;
    this.indicators.add({
      name: 'networks',
      timeoutMs,
      report: async () => {
        const networks = await this.deployment.networks();
        const isUp = networks.some(({ canSettle }) => canSettle);
        return { isUp, facts: byName(networks, 'network') };
      },
    });
    // A lane or a queue in trouble is named. Whether anything can be settled the networks say.
    this.indicators.add({
      name: 'lanes',
      timeoutMs,
      report: async () => ({ isUp: true, facts: byName(await this.deployment.lanes(), 'lane') }),
    });
    this.indicators.add({
      name: 'queue',
      timeoutMs,
      report: async () => ({
        isUp: true,
        facts: byName(await this.deployment.queues(), 'network'),
      }),
    });
    // It is about sellers that did not come back, and no reason to settle less.
    this.indicators.add({
      name: 'unclaimed',
      timeoutMs,
      report: async () => ({
        isUp: true,
        facts: byName(await this.deployment.unclaimed(), 'network'),
      }),
    });
    this.indicators.add({
      name: 'settles',
      timeoutMs,
      report: async () => {
        const { reasons, ...totals } = await this.settles.totals();
        const counts = reasons.map(({ reason, count }) => [reason, count]);
        return { isUp: true, facts: { ...totals, reasons: Object.fromEntries(counts) } };
      },
    });
  }
}

function byName<K extends string, T extends Readonly<Record<K, string>>>(
  reports: readonly T[],
  name: K,
): Readonly<Record<string, Omit<T, K>>> {
  return Object.fromEntries(
    reports.map((report) => {
      const { [name]: key, ...facts } = report;
      return [key, facts];
    }),
  );
}
