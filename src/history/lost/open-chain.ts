import type { Address } from 'viem';
import { EvmChain } from '../../platform/chain/evm-chain.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import type { NetworkConfig } from '../../platform/config/app-config.js';
import type { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { knownLanes } from '../../settlement/ledger/queries/known-lanes.js';
import type { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import { ChainEvidence } from '../reconciliation/chain-evidence.js';
import type { SettlementHistory } from '../reconciliation/settlement-history.js';
import { LostOutcomes } from './lost-outcome.js';
import type { OpenedChain } from './lost-settlements.js';
import type { UnfinishedSettlements } from './unfinished.js';

interface OpenChainParts {
  readonly ledger: LedgerConnections;
  readonly laneQueries: Pick<LaneQueries, 'all'>;
  readonly books: Pick<SettlementHistory, 'lanes'>;
  readonly unfinished: Pick<UnfinishedSettlements, 'ownTransactions'>;
  readonly clock: Clock;
}

/** Of the newest ones that the archive knows: their senders are lanes. */
const OWN_TRANSACTIONS = 40;

/**
 * A chain with connections of its own, so that nothing here waits before a payment, nor a payment behind it.
 *
 * @throws ChainUnavailableError
 */
export async function openChain(
  network: NetworkConfig,
  parts: OpenChainParts,
): Promise<OpenedChain> {
  const chain = new EvmChain(network);
  try {
    await chain.start();
    const evidence = new ChainEvidence(chain, parts.clock);
    const final = await evidence.finalBlock();
    let own: Promise<ReadonlySet<Address>> | undefined;
    const ownSenders = () => (own ??= sendersOf(network.chainId, evidence, parts));
    return {
      outcomes: new LostOutcomes({ chain, evidence, final, ownSenders }),
      close: () => chain.close(),
    };
  } catch (error) {
    await chain.close();
    throw error;
  }
}

/**
 * Accounts that are lanes by anything that says so: a ledger that was lost does not know those that have not
 * sent anything since.
 */
async function sendersOf(
  chainId: number,
  evidence: Pick<ChainEvidence, 'look'>,
  { ledger, laneQueries, books, unfinished }: OpenChainParts,
): Promise<ReadonlySet<Address>> {
  const [known, statuses, met, hashes] = await Promise.all([
    knownLanes(ledger, chainId),
    laneQueries.all(),
    books.lanes(chainId),
    unfinished.ownTransactions(chainId, OWN_TRANSACTIONS),
  ]);
  const reported = statuses.flatMap((one) =>
    one.chainId === chainId ? [one.signer.toLowerCase() as Address] : [],
  );
  const sights = await evidence.look(hashes.map((hash) => ({ hash, blockNumber: undefined })));
  const senders = [...sights.values()].flatMap((sight) =>
    sight.kind === 'seen' ? [sight.transaction.from] : [],
  );
  return new Set([...known, ...reported, ...met, ...senders]);
}
