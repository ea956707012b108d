import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import type { NetworkConfig } from '../../platform/config/app-config.js';
import { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { OUTBOX } from '../../settlement/ledger/ledger.module.js';
import type { Outbox } from '../../settlement/ledger/outbox.js';
import { knownLanes } from '../../settlement/ledger/queries/known-lanes.js';
import { knownRefills } from '../../settlement/ledger/queries/known-refills.js';
import { PostgresSettlementHistory } from '../postgres/postgres-settlement-history.js';
import type { NetworkBooks } from './daily-reconciliation.js';
import { reconcileNetwork } from './reconcile-network.js';
import type { ReconcilerTask } from './reconciler.js';
import type { Reconciliation } from './settlement-history.js';

/** {@link NetworkBooks} with what the ledger knows of lanes and refills. */
@Injectable()
export class LedgerBooks implements NetworkBooks {
  constructor(
    private readonly ledger: LedgerConnections,
    @Inject(OUTBOX) private readonly outbox: Outbox,
    private readonly books: PostgresSettlementHistory,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async reconcile(
    network: NetworkConfig,
    task: ReconcilerTask,
    signal: AbortSignal,
  ): Promise<Reconciliation> {
    const { ledger, books, clock } = this;
    const { chainId } = network;
    const ledgerLanes = await knownLanes(ledger, chainId);
    const refills = await knownRefills(ledger, chainId, ledgerLanes);
    const archiveLagMs = () => this.archiveLagMs(chainId);
    return reconcileNetwork(
      { network, books, ledgerLanes, refills, archiveLagMs, signal, clock },
      task,
    );
  }

  async archiveLagMs(chainId: number): Promise<number> {
    return (await this.outbox.backlog(chainId)).oldestMs;
  }
}
