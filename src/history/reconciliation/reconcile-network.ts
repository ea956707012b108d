import type { Address } from 'viem';
import { EvmChain } from '../../platform/chain/evm-chain.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import type { NetworkConfig } from '../../platform/config/app-config.js';
import type { KnownRefills } from '../../settlement/ledger/queries/known-refills.js';
import { ChainEvidence } from './chain-evidence.js';
import { Reconciler, type ReconcilerTask } from './reconciler.js';
import type { Reconciliation, SettlementHistory } from './settlement-history.js';

export interface NetworkParts {
  readonly network: NetworkConfig;
  readonly history: SettlementHistory;
  readonly ledgerLanes: readonly Address[] | undefined;
  /** Transfers of treasuries from the ledger. */
  readonly refills?: KnownRefills | undefined;
  readonly clock: Clock;
  readonly archiveLagMs?: () => Promise<number>;
  readonly signal?: AbortSignal;
}

/**
 * Reconciles one network and stores the result. It has its own RPC connections, so that reconciliation and payments
 * do not delay each other.
 *
 * @throws ArchiveError, or the reason of an aborted signal.
 */
export async function reconcileNetwork(
  { network, ...parts }: NetworkParts,
  task: ReconcilerTask,
): Promise<Reconciliation> {
  const chain = new EvmChain(network);
  try {
    await chain.start();
    const evidence = new ChainEvidence(chain, parts.clock);
    const topUpMostWei = network.approvalSponsoring?.limits.topUpWei ?? 0n;
    const run = await new Reconciler({ ...parts, evidence, topUpMostWei }, task).run();
    parts.signal?.throwIfAborted();
    await parts.history.save(run);
    return run;
  } finally {
    await chain.close();
  }
}
