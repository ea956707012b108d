import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { EvmChain } from '../../platform/chain/evm-chain.js';
import { Clock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { heldSettlements } from '../../settlement/ledger/queries/held-settlements.js';
import { knownLanes } from '../../settlement/ledger/queries/known-lanes.js';
import { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import { PostgresSettlementHistory } from '../postgres/postgres-settlement-history.js';
import { PostgresUnfinished } from '../postgres/postgres-unfinished.js';
import { ChainEvidence } from '../reconciliation/chain-evidence.js';
import { LostOutcomes } from './lost-outcome.js';
import type { LostSources, OpenedChain } from './lost-settlements.js';

/** Number of newest archived transactions whose senders count as lanes. */
const OWN_TRANSACTIONS = 40;

/** {@link LostSources} from the present ledger and the chains. */
@Injectable()
export class LedgerAndChain implements LostSources {
  constructor(
    private readonly config: AppConfig,
    private readonly ledger: LedgerConnections,
    private readonly lanes: LaneQueries,
    private readonly history: PostgresSettlementHistory,
    private readonly unfinished: PostgresUnfinished,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  held(chainId: number, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return heldSettlements(this.ledger, chainId, ids);
  }

  /** Uses its own RPC connections, so that searches and payments do not delay each other. */
  async open(chainId: number): Promise<OpenedChain> {
    const network = this.config.networks.find((one) => one.chainId === chainId);
    if (network === undefined) throw new ChainUnavailableError(chainId, 'network');
    const chain = new EvmChain(network);
    try {
      await chain.start();
      const evidence = new ChainEvidence(chain, this.clock);
      const final = await evidence.finalBlock();
      let own: Promise<ReadonlySet<Address>> | undefined;
      const ownSenders = () => (own ??= this.#sendersOf(chainId, evidence));
      return {
        outcomes: new LostOutcomes({ chain, evidence, final, ownSenders }),
        close: () => chain.close(),
      };
    } catch (error) {
      await chain.close();
      throw error;
    }
  }

  /** Accounts that are lanes by any source. A restored ledger does not know lanes that have not sent anything since. */
  async #sendersOf(
    chainId: number,
    evidence: Pick<ChainEvidence, 'look'>,
  ): Promise<ReadonlySet<Address>> {
    const [known, statuses, met, hashes] = await Promise.all([
      knownLanes(this.ledger, chainId),
      this.lanes.all(),
      this.history.lanes(chainId),
      this.unfinished.ownTransactions(chainId, OWN_TRANSACTIONS),
    ]);
    const reported = statuses.flatMap((one) =>
      one.chainId === chainId ? [one.signer.toLowerCase() as Address] : [],
    );
    const reads = await evidence.look(hashes.map((hash) => ({ hash, blockNumber: undefined })));
    const senders = [...reads.values()].flatMap((read) =>
      read.kind === 'seen' ? [read.transaction.from] : [],
    );
    return new Set([...known, ...reported, ...met, ...senders]);
  }
}
