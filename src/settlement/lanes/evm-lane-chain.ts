import type { Address, Hex } from 'viem';
import { eachAnswer } from '../../platform/chain/agreement.js';
import type { BlockHeader } from '../../platform/chain/block.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import type { Head } from '../../platform/chain/head-watcher.js';
import type { KnownHeads } from '../../platform/chain/heads.js';
import type { SendResult } from '../../platform/chain/rpc/rpc-classes.js';
import type { TransactionCounts } from '../../platform/chain/transaction-counts.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { LaneChain } from './ports.js';

/** An endpoint that takes longer has not answered. */
const PATIENCE_MS = 1000;

/** The chain as lanes read it, through all endpoints. */
export class EvmLaneChain implements LaneChain {
  constructor(private readonly chain: EvmChain) {}

  get chainId(): number {
    return this.chain.chainId;
  }

  get knownHeads(): KnownHeads {
    return this.chain.knownHeads;
  }

  newestElsewhere({
    view,
    latest,
  }: Pick<Head, 'view' | 'latest'>): Promise<readonly BlockHeader[]> {
    return this.chain.newestElsewhere(view, latest);
  }

  transactionCount(signer: Address): Promise<TransactionCounts> {
    return this.chain.transactionCount(signer);
  }

  /** All are asked at once: a lane that changes hands must not wait for one after the other. */
  async hasCode(address: Address): Promise<boolean> {
    const answers = await Promise.all(
      this.chain.views().map(async (view): Promise<boolean | undefined> => {
        try {
          return await view.within(PATIENCE_MS).hasCode(address);
        } catch (error) {
          if (!(error instanceof ChainUnavailableError)) throw error;
          return undefined;
        }
      }),
    );
    if (answers.every((answer) => answer === undefined)) {
      throw new ChainUnavailableError(this.chainId, 'the code of a signer');
    }
    return answers.includes(true);
  }

  balance(address: Address): Promise<bigint> {
    return this.chain.withView((view) => view.balance(address));
  }

  async balanceByAll(address: Address): Promise<bigint> {
    const said = await eachAnswer(this.chain.views(), (view) => view.balance(address));
    const byTwo = said.find((one, index) => said.indexOf(one) < index);
    if (byTwo !== undefined) return byTwo;
    const [first, ...others] = said;
    if (first === undefined) throw new ChainUnavailableError(this.chainId, 'a balance');
    return others.reduce((most, one) => (one > most ? one : most), first);
  }

  broadcast(raw: Hex): Promise<readonly SendResult[]> {
    return this.chain.broadcast(raw);
  }

  canBatch(): boolean {
    return this.chain.hasContract('multicall3') === true;
  }
}
