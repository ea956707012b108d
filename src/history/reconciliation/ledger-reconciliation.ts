import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import type { NetworkConfig } from '../../platform/config/app-config.js';
import { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { OUTBOX } from '../../settlement/ledger/ledger.module.js';
import type { Outbox } from '../../settlement/ledger/outbox.js';
import { knownLanes } from '../../settlement/ledger/queries/known-lanes.js';
import { knownRefills } from '../../settlement/ledger/queries/known-refills.js';
import { PostgresSettlementHistory } from '../postgres/postgres-settlement-history.js';
import type { NetworkReconciliation } from './daily-reconciliation.js';
import { reconcileNetwork } from './reconcile-network.js';
import type { ReconcilerTask } from './reconciler.js';
import type { Reconciliation } from './settlement-history.js';

/** {@link NetworkReconciliation} with lanes and refills from the ledger. */
@Injectable()
export class LedgerReconciliation implements NetworkReconciliation {
  constructor(
    private readonly ledger: LedgerConnections,
    @Inject(OUTBOX) private readonly outbox: Outbox,
    private readonly history: PostgresSettlementHistory,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async reconcile(
    network: NetworkConfig,
    task: ReconcilerTask,
    signal: AbortSignal,
  ): Promise<Reconciliation> {
    const { ledger, history, clock } = this;
    const { chainId } = network;
    const ledgerLanes = await knownLanes(ledger, chainId);
    const refills = await knownRefills(ledger, chainId, ledgerLanes);
    const archiveLagMs = () => this.archiveLagMs(chainId);
    return reconcileNetwork(
      { network, history, ledgerLanes, refills, archiveLagMs, signal, clock },
      task,
    );
  }

  async archiveLagMs(chainId: number): Promise<number> {
    return (await this.outbox.backlog(chainId)).oldestMs;
  }
}
