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

/** Names unhealthy lanes. The networks' indicator says whether payments can be settled. */
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

/** It reports sellers that did not return, which is no reason to settle less. */
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
    const { reasons, channels, ...totals } = await this.settles.totals();
    const ofChannels = channels.map((one) => ({ ...one, reasons: countsOf(one.reasons) }));
    const facts = {
      ...totals,
      reasons: countsOf(reasons),
      ...(channels.length > 0 && { channels: byName(ofChannels, 'action') }),
    };
    return { isUp: true, facts };
  }
}

function countsOf(
  reasons: readonly { readonly reason: string; readonly count: number }[],
): Readonly<Record<string, number>> {
  return Object.fromEntries(reasons.map(({ reason, count }) => [reason, count]));
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
