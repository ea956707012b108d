import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { FeatureHealth, type HealthReport } from '../../platform/observability/feature-health.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { DailyReconciliation } from './daily-reconciliation.js';
import { DIFFERENCES, differencesIn } from './difference.js';

/** The result of the newest daily run of a network. */
interface NetworkFindings {
  readonly network: string;
  /** By every known name, also zeros. */
  readonly differences: ReadonlyMap<string, number>;
  readonly settlements: number;
  readonly finishedAtMs: number;
}

/** One run per day, and an hour for a run that waits for the archive. */
const OVERDUE_MS = 26 * 3_600_000;

/** The findings of the daily runs. */
@Injectable()
export class ReconciliationHealth extends FeatureHealth {
  readonly name = 'reconciliation';

  constructor(
    @Inject(DailyReconciliation) private readonly daily: Pick<DailyReconciliation, 'newest'>,
    @Inject(AppConfig)
    private readonly config: { readonly networks: readonly { readonly chainId: number }[] },
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
  ) {
    super();
  }

  state(): readonly NetworkFindings[] {
    return [...this.daily.newest.values()].map((run) => ({
      network: caip2Of(run.chainId),
      differences: new Map(
        Object.keys(DIFFERENCES).map((name) => [name, run.counts.get(name) ?? 0]),
      ),
      settlements: run.settlements,
      finishedAtMs: run.finishedAt.getTime(),
    }));
  }

  /** The line of `/health`: always up, because differences do not stop settling. */
  report(): HealthReport {
    const { newest } = this.daily;
    const runs = [...newest.values()];
    const all = runs.reduce((sum, { counts }) => sum + differencesIn(counts), 0);
    const notChecked = runs.reduce((sum, { counts }) => sum + (counts.get('not_checked') ?? 0), 0);
    const oldest = Math.min(...runs.map(({ finishedAt }) => finishedAt.getTime()));
    const isMissing = this.config.networks.some(({ chainId }) => !newest.has(chainId));
    const code = codeOf({
      differences: all - notChecked,
      notChecked,
      isMissing,
      isOverdue: runs.length > 0 && this.clock.now() - oldest > OVERDUE_MS,
    });
    return {
      isUp: true,
      facts: {
        enabled: true,
        ...(code !== undefined && { code }),
        differences: all - notChecked,
        notChecked,
        ...(runs.length > 0 && { lastRun: new Date(oldest).toISOString() }),
      },
    };
  }
}

function codeOf(what: {
  readonly differences: number;
  readonly notChecked: number;
  readonly isMissing: boolean;
  readonly isOverdue: boolean;
}): string | undefined {
  if (what.differences > 0) return 'differences';
  if (what.notChecked > 0) return 'not_checked';
  if (what.isOverdue) return 'overdue';
  return what.isMissing ? 'not_run_yet' : undefined;
}
