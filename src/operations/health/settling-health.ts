import { Injectable } from '@nestjs/common';
import { FeatureHealth, type HealthReport } from '../../platform/observability/feature-health.js';
import { SettleCounts } from '../settles/settle-counts.js';
import { DeploymentReport } from './deployment-report.js';

@Injectable()
export class NetworksHealth extends FeatureHealth {
  readonly name = 'networks';

  constructor(private readonly deployment: DeploymentReport) {
    super();
  }

  async report(): Promise<HealthReport> {
    const networks = await this.deployment.networks();
    const isUp = networks.some(({ canSettle }) => canSettle);
    return { isUp, facts: byName(networks, 'network') };
  }
}

/** A lane in trouble is named. Whether anything can be settled the networks say. */
@Injectable()
export class LanesHealth extends FeatureHealth {
  readonly name = 'lanes';

  constructor(private readonly deployment: DeploymentReport) {
    super();
  }

  async report(): Promise<HealthReport> {
    return { isUp: true, facts: byName(await this.deployment.lanes(), 'lane') };
  }
}

/** As {@link LanesHealth}. */
@Injectable()
export class QueuesHealth extends FeatureHealth {
  readonly name = 'queue';

  constructor(private readonly deployment: DeploymentReport) {
    super();
  }

  async report(): Promise<HealthReport> {
    return { isUp: true, facts: byName(await this.deployment.queues(), 'network') };
  }
}

/** It is about sellers that did not come back, and no reason to settle less. */
@Injectable()
export class UnclaimedHealth extends FeatureHealth {
  readonly name = 'unclaimed';
  override readonly informsOnly = true;

  constructor(private readonly deployment: DeploymentReport) {
    super();
  }

  async report(): Promise<HealthReport> {
    return { isUp: true, facts: byName(await this.deployment.unclaimed(), 'network') };
  }
}

@Injectable()
export class SettlesHealth extends FeatureHealth {
  readonly name = 'settles';
  override readonly informsOnly = true;

  constructor(private readonly settles: SettleCounts) {
    super();
  }

  async report(): Promise<HealthReport> {
    const { reasons, ...totals } = await this.settles.totals();
    const counts = reasons.map(({ reason, count }) => [reason, count]);
    return { isUp: true, facts: { ...totals, reasons: Object.fromEntries(counts) } };
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
