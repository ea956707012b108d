import type { Address, Hex } from 'viem';
import type { BlockHeader } from '../../platform/chain/block.js';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import type { Head } from '../../platform/chain/head-watcher.js';
import type { TransactionCounts } from '../../platform/chain/transaction-counts.js';
import type { Call } from '../../protocol/evm/calls.js';
import type { Sender } from '../../protocol/evm/chain-reader.js';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { Preparation } from '../../protocol/schemes/scheme.js';
import type { Ending, HeldLane, SentBefore, TakenSettlement } from '../ledger/lane-store.js';
import type { SignedTransaction } from '../model/attempt.js';
import type { FeeMarket, Fees, UrgentMarket } from '../model/gas-price.js';
import type { BatchRules } from '../model/grouping.js';
import type { MeasuredGasEstimates } from './sending/gas-estimates.js';
import type { PreflightResult } from './sending/preflight-result.js';
import type { AssetSuspension, BatchSuspension } from './sending/suspensions.js';
import type { Inclusion, TrackedAttempt } from './state/tracked-attempt.js';

/** The ports of a lane to the chain, its signer and the verification of payments; tests replace them. */

/** The chain as lanes use it. All reads are bounded in time. */
export type LaneChain = Pick<
  EvmChain,
  | 'chainId'
  | 'knownHeads'
  | 'newestElsewhere'
  | 'hasContract'
  | 'hasCode'
  | 'balance'
  | 'balanceByAll'
  | 'broadcast'
> & {
  transactionCount(signer: Address): Promise<Pick<TransactionCounts, 'latest' | 'pending'>>;
};

/** The events of a lane for the process it runs in. */
export interface LaneEvents {
  /** These settlements are finished, or left the lane for good. */
  finished(ids: readonly string[]): void;
  /** The status of the lane has changed in a way that others should know at once. */
  conditionChanged(lane: string): void;
}

export interface LaneHeads {
  readonly current: Head | undefined;
  /** @returns how to stop listening. */
  onHead(listener: (head: Head) => void): () => void;
  /** Looks now rather than when the next look is due. */
  look(): void;
  /** Ends a rest that was taken because no caller waited for blocks. */
  lookIfIdle(): void;
}

/** Signs for the account of a lane. */
export interface TransactionSigner {
  readonly address: Address;
  /** Whether it is worth asking now: a key service may not answer. */
  readonly isAvailable: boolean;
  /** A call that only uses up an account nonce. */
  readonly noop: Call;
  /** @returns `undefined` when it cannot sign now. Two signatures of one order may differ. */
  sign(order: TransactionOrder): Promise<SignedTransaction | undefined>;
}

/** The source of a lane's transactions: settlements, or the refills of a treasury. */
export interface Sending {
  /** Resets its state: the lane was opened. */
  reset(): void;
  /** Whether a block is awaited before something can be sent. */
  readonly isWaiting: boolean;
  /** @throws ReopenLane, LeaseLostError, RedisUnavailableError. */
  sendReady(held: HeldLane, isGoing: () => boolean): Promise<void>;
}

export interface TransactionOrder {
  readonly call: Call;
  readonly accountNonce: number;
  readonly gas: bigint;
  readonly fees: Fees;
  readonly isNoop: boolean;
  /** Native coins that it carries; none where it is absent. */
  readonly valueWei?: bigint;
}

/** The state on chain of a payer's own transaction, which precedes its payment. */
export interface PreparationLook {
  /** Whether the transaction has had its effect. */
  readonly isDone: boolean;
  /** Account nonces of the payer below this are used. */
  readonly usedNonces: number;
  readonly balanceWei: bigint;
}

export interface PreparationReader {
  /** All from one block, or from consecutive ones. @throws ChainUnavailableError */
  look(payer: Address, preparation: Preparation): Promise<PreparationLook>;
}

export interface FeeMarkets {
  /** @throws ChainUnavailableError when the market is unknown and no endpoint answers. */
  market(head: Head): Promise<FeeMarket>;
  /** The market for a transaction whose price did not suffice. @throws ChainUnavailableError likewise. */
  urgentMarket(head: Head): Promise<Required<UrgentMarket>>;
  /** A transaction of a lane is in a block. @param tip - the tip it paid, in wei. */
  noteMined(tip: bigint): void;
}

/** The result of one look at a block for a lane. */
export interface InclusionLook {
  /** Account nonces below this are used on chain. */
  readonly usedNonces: number;
  readonly included: ReadonlyMap<TrackedAttempt, Inclusion>;
}

/** Where an attempt was mined, by one endpoint. */
export interface SeenInclusion {
  readonly view: ChainView;
  readonly inclusion: Inclusion;
}

/** A block by its number and hash. */
export interface Block {
  readonly number: bigint;
  readonly hash: Hex;
}

/** Whether a block is part of the chain; `unknown` where no two endpoints agree, or one is silent. */
export type BlockState = 'there' | 'replaced' | 'unknown';

export interface Replaced {
  readonly gone: ReadonlySet<Hex>;
  readonly doubtful: ReadonlySet<Hex>;
}

/** Reads from the chain which attempts are mined. An attempt that is not found is not decided. */
export interface ReceiptReader {
  /** @throws ChainUnavailableError */
  look(
    head: Pick<Head, 'view' | 'latest'>,
    attempts: readonly TrackedAttempt[],
  ): Promise<InclusionLook>;

  /**
   * Looks for any transaction of an attempt at every endpoint. `undefined`: none has one.
   *
   * @throws ChainUnavailableError when one that may have one does not answer.
   */
  lookEverywhere(tracked: TrackedAttempt): Promise<SeenInclusion | undefined>;

  /**
   * Which of these blocks are no longer part of the chain, and which are in doubt: one endpoint shows another block,
   * and no second one confirms it. The rest are part of the chain by the endpoint that showed the head.
   *
   * @throws ChainUnavailableError
   */
  replacedBlocks(head: Pick<Head, 'view' | 'latest'>, blocks: readonly Block[]): Promise<Replaced>;

  /**
   * Whether a block at or below a final one is part of the chain. Both endpoints are asked after they named that final
   * block, because earlier answers prove nothing.
   */
  standingOf(block: Block, finalized: BlockHeader): Promise<BlockState>;

  /**
   * The evidence that a second endpoint confirms, where there is one.
   *
   * @returns `undefined` while the other endpoint does not show the transaction, or no two agree.
   */
  confirm(
    view: ChainView,
    tracked: TrackedAttempt,
    inclusion: Inclusion,
  ): Promise<Inclusion | undefined>;

  /**
   * The number of account nonces used in final blocks.
   *
   * @throws ChainUnavailableError when too few endpoints answer, or they do not agree.
   */
  finalNonces(finalized: BlockHeader): Promise<number>;
}

/** The outcome of a settlement that its attempt did not pay. */
export type OutcomeVerdict =
  | { readonly kind: 'ended'; readonly ending: Ending }
  /** The authorization is unused and can still be paid: the settlement goes back to the queue, to be sent alone. */
  | { readonly kind: 'requeue' }
  /** The attempt may still pay the settlement, or no endpoint can answer now, or its token hides the state. */
  | { readonly kind: 'waiting'; readonly why?: 'state_unreadable' }
  /** A search for the using transaction is in progress; the question is repeated after it. */
  | { readonly kind: 'searching' };

export interface OutcomeResolver {
  /** @throws ChainUnavailableError when its outcome cannot be read now. */
  resolve(
    id: string,
    payment: AcceptedPayment,
    tracked: TrackedAttempt,
    inclusion: Inclusion | undefined,
    finalized: BlockHeader,
  ): Promise<OutcomeVerdict>;

  /** The same of one that no attempt in flight carries. @throws ChainUnavailableError */
  resolveAgain(
    id: string,
    payment: AcceptedPayment,
    sent: SentBefore,
    finalized: BlockHeader,
  ): Promise<OutcomeVerdict>;
}

/** The last simulation before money is spent; see `sending/chain-batch-simulator.ts`. */
export interface BatchSimulator {
  /** Whether {@link BatchSimulator.preflight} has a result for earlier settlements. */
  readonly hasDecided: boolean;

  /** Drops simulations in progress, because the settlements were returned to the ledger. */
  clear(): void;

  /**
   * @returns the results so far; a later call returns the rest.
   * @throws ChainUnavailableError when no endpoint answers.
   */
  preflight(
    ready: readonly TakenSettlement[],
    rules: BatchRules,
    sender: Sender,
  ): Promise<readonly PreflightResult<TakenSettlement>[]>;
}

/** The gas that settlements of a kind need. */
export type GasEstimates = Pick<MeasuredGasEstimates, 'typical' | 'raise'>;

export type BatchSuspensions = Pick<BatchSuspension, 'noteRevert' | 'isSuspended'>;

export type AssetSuspensions = Pick<AssetSuspension, 'suspended' | 'noteWithoutEvidence'>;
