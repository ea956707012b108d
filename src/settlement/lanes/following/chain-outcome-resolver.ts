import type { Address, Hex } from 'viem';
import { type AuthorizationUse, isDone, refOf } from '../../../platform/chain/authorization-use.js';
import type { BlockHeader } from '../../../platform/chain/block.js';
import type { BlockPoint } from '../../../platform/chain/chain-queries.js';
import { type ChainView, stateAt } from '../../../platform/chain/chain-view.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import type { Claim } from '../../../platform/chain/quorum.js';
import { withTimeout } from '../../../platform/concurrency/timing.js';
import { ChainUnavailableError, EndpointsDisagreeError } from '../../../protocol/errors.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import { callOf, gasCapOf, isExpiredAt } from '../../../protocol/payment/payment-facts.js';
import type { Reason } from '../../../protocol/reasons.js';
import { actionOf } from '../../../protocol/schemes/registry.js';
import type { ActionReasons } from '../../../protocol/schemes/scheme.js';
import type {
  Ending,
  FailedTransaction,
  LaneEndings,
  SentBefore,
} from '../../ledger/lane-store.js';
import type { Attempt } from '../../model/attempt.js';
import type { OutcomeResolver, OutcomeVerdict } from '../ports.js';
import type { Inclusion, TrackedAttempt } from '../state/tracked-attempt.js';
import { isShownByState } from './failures.js';

/** Blocks before the attempt in which the authorization may have been used unnoticed. */
const LOOK_BACK_BLOCKS = 5000n;

/** Milliseconds for the search of who is to blame. It is half the time of a whole question. */
const CULPRITS_MS = 1000;

interface ChainOutcomeResolverOptions {
  readonly chain: EvmChain;
  readonly endings: LaneEndings;
  readonly maxGas: bigint;
  /** Called when a search has ended, so that its settlements can be resolved. */
  readonly onSearched: () => void;
  /** Whether this address is one of the facilitator's signers, whatever the ledger contains. */
  readonly isOwnSigner: (address: Address) => Promise<boolean>;
}

/**
 * Resolves settlements that their own attempt did not pay, by the state of one final block, which cannot be undone. Two
 * endpoints have to agree. While they differ, or the transaction that used an authorization is still searched, the
 * settlement waits.
 */
export class ChainOutcomeResolver implements OutcomeResolver {
  constructor(private readonly options: ChainOutcomeResolverOptions) {}

  /**
   * @param inclusion - where the attempt was finalized; absent while it may still be mined.
   * @throws ChainUnavailableError when no endpoint can be asked, or only one that lags.
   */
  async resolve(
    id: string,
    payment: AcceptedPayment,
    tracked: TrackedAttempt,
    inclusion: Inclusion | undefined,
    finalized: BlockHeader,
  ): Promise<OutcomeVerdict> {
    const isUsed = await this.#isUsed(payment, finalized);
    if (typeof isUsed !== 'boolean') return waitingFor(isUsed);
    if (isUsed && isShownByState(payment)) {
      const isOurs = inclusion?.isSuccess === true && tracked.isSettledBy(inclusion.transaction);
      return endedByState(id, isOurs ? inclusion : undefined);
    }
    if (isUsed) {
      const { attempt, provenSince } = tracked;
      const sinceBlock = provenSince ?? (await this.#sentSince(attempt, finalized));
      if (sinceBlock === undefined) return { kind: 'waiting' };
      tracked.provenSince = sinceBlock;
      const sent = {
        sinceBlock,
        hashes: attempt.transactions.map(({ hash }) => hash),
      };
      return this.#resolveUsed(id, payment, sent, inclusion === undefined, finalized);
    }
    if (isExpiredAt(payment, finalized.timestamp)) {
      return ended({ id, state: 'expired', isPaid: false, reason: reasonsOf(payment).expired });
    }
    if (inclusion === undefined) return { kind: 'waiting' };
    const isSettling = tracked.isSettledBy(inclusion.transaction);
    if (tracked.attempt.kind === 'batch' || !isSettling) return { kind: 'requeue' };
    return this.#reverted(id, payment, inclusion, finalized);
  }

  /**
   * The outcome of a settlement without an attempt in flight, by a final block. Its authorization may be used
   * nevertheless.
   *
   * @throws ChainUnavailableError
   */
  async resolveAgain(
    id: string,
    payment: AcceptedPayment,
    sent: SentBefore,
    finalized: BlockHeader,
  ): Promise<OutcomeVerdict> {
    const isUsed = await this.#isUsed(payment, finalized);
    if (typeof isUsed !== 'boolean') return waitingFor(isUsed);
    const { failed } = sent;
    if (isUsed && isShownByState(payment)) {
      return endedByState(id, failed?.isSuccess === true ? failed : undefined);
    }
    // Of its failed transaction only the receipt was seen; a search may show more.
    if (isUsed) return this.#resolveUsed(id, payment, sent, false, finalized);
    if (isExpiredAt(payment, finalized.timestamp)) {
      return ended({ id, state: 'expired', isPaid: false, reason: reasonsOf(payment).expired });
    }
    // Another transaction of it would cost gas again.
    if (failed !== undefined) return this.#reverted(id, payment, failed, finalized);
    return { kind: 'requeue' };
  }

  /** Unused after its own transaction is final: it has failed. */
  async #reverted(
    id: string,
    payment: AcceptedPayment,
    failed: FailedTransaction,
    finalized: BlockHeader,
  ): Promise<OutcomeVerdict> {
    const blamed = await this.#culprits(payment, failed, finalized);
    const { transaction, blockNumber, blockHash } = failed;
    return ended({
      id,
      state: 'reverted',
      isPaid: false,
      transaction,
      blockNumber,
      blockHash,
      reason: await this.#revertReason(payment, failed, { blockHash: finalized.hash }),
      ...(blamed && { blamed }),
    });
  }

  /**
   * Whether the authorization is used in a final block, on which two endpoints agree. A token that answers them
   * differently, or not at all, delays only its own settlements: unknown does not mean unused.
   *
   * @returns `undefined` while endpoints differ.
   */
  async #isUsed(
    payment: AcceptedPayment,
    { hash }: BlockHeader,
  ): Promise<boolean | 'hidden' | undefined> {
    return this.#unlessInDoubt<boolean | 'hidden'>('authorization state', async (view) => {
      const isUsed = (await isDone(view, payment, { blockHash: hash })) ?? 'hidden';
      return { value: isUsed, key: String(isUsed), subject: hash };
    });
  }

  /**
   * The newest known block when an attempt was about to be sent. A block from one endpoint alone counts if it is on the
   * chain: a made-up head has another hash, or none.
   *
   * @returns `undefined` while the chain cannot be read.
   */
  async #sentSince(
    { allocatedAtBlock, newestBlock }: Attempt,
    finalized: BlockHeader,
  ): Promise<bigint | undefined> {
    if (newestBlock === undefined) return allocatedAtBlock;
    const { number, hash } = newestBlock;
    if (number > finalized.number) return undefined;
    const final = await this.#unlessInDoubt('block', async (view) => {
      const value = (await view.block(number))?.hash;
      return { value, key: String(value) };
    });
    if (final === undefined) return undefined;
    return final === hash ? number : allocatedAtBlock;
  }

  /** The answer of two endpoints; `undefined` where they differ. */
  async #unlessInDoubt<T>(
    what: string,
    read: (view: ChainView) => Promise<Claim<T>>,
  ): Promise<T | undefined> {
    try {
      return await this.options.chain.quorumRead({ what, read });
    } catch (error) {
      if (error instanceof EndpointsDisagreeError) return undefined;
      throw error;
    }
  }

  /**
   * Used, but not by its attempt. If a copy of the lane's transaction after its broadcast used it, this facilitator
   * paid the payee; otherwise the payment was presented elsewhere.
   */
  async #resolveUsed(
    id: string,
    payment: AcceptedPayment,
    sent: SentBefore,
    isInFlight: boolean,
    finalized: BlockHeader,
  ): Promise<OutcomeVerdict> {
    const searched = this.#searchUse(payment, sent.sinceBlock, finalized.number);
    if (searched === 'searching') return { kind: 'searching' };
    if (searched === 'unknown') return { kind: 'waiting' };
    const { use } = searched;
    const isOurs = use !== undefined && sent.hashes.includes(use.transaction);
    // Its receipt was not seen yet.
    if (isInFlight && (isOurs || use === undefined)) return { kind: 'waiting' };
    const place = use && {
      transaction: use.transaction,
      blockNumber: use.blockNumber,
      blockHash: use.blockHash,
    };
    if (isOurs) {
      // A log of its own proves the payment, whatever was said of the attempt, or missing in its receipt, before.
      const logIndex = await this.#credited(id, use);
      if (logIndex !== undefined) {
        return ended({ id, state: 'finalized', isPaid: true, ...place, logIndex });
      }
      const reason = reasonsOf(payment).noEvidence;
      return ended({ id, state: 'reverted', isPaid: false, isUsed: true, ...place, reason });
    }
    // The ledger may have lost the attempt or the whole lane; the chain has not.
    const forgotten = use && (await this.#forgotten(id, use));
    if (forgotten !== undefined) {
      const logIndex = forgotten;
      return ended({ id, state: 'finalized', isPaid: true, ...place, logIndex });
    }
    const { isDoneByAnybody = false, reasons } = actionOf(payment.authorization);
    const isSince = use !== undefined && use.blockNumber > sent.sinceBlock;
    // A payment that was never broadcast has no copy, however late the use is.
    const isCopy = isSince && sent.hashes.length > 0;
    const copied = isCopy ? await this.#credited(id, use) : undefined;
    if (copied !== undefined || (use !== undefined && isDoneByAnybody)) {
      const logIndex = copied ?? use?.logIndex;
      const evidence = { ...place, ...(logIndex !== undefined && { logIndex }) };
      return ended({ id, state: 'foreign', isPaid: true, ...evidence, batchSize: 1 });
    }
    // Presented elsewhere before the lane's broadcast. The refusal says whether that transaction paid the payee.
    const { payTo, amount } = refOf(payment);
    const { moved } = use ?? {};
    const isMoved = moved !== undefined && moved.payTo === payTo && moved.amount === amount;
    const evidence = { ...place, ...(isMoved && { logIndex: moved.logIndex }) };
    return ended({ id, state: 'foreign', isPaid: false, ...evidence, reason: reasons.used });
  }

  /**
   * Searches the transaction that used it. Only a use after the broadcast decides, and there not found does not mean
   * absent; an older use is only named.
   *
   * @returns `unknown` while the chain cannot be read.
   */
  #searchUse(
    payment: AcceptedPayment,
    sinceBlock: bigint,
    until: bigint,
  ): { readonly use: AuthorizationUse | undefined } | 'unknown' | 'searching' {
    // A block before the broadcast does not show what happened afterwards.
    if (until < sinceBlock) return 'unknown';
    const ref = refOf(payment);
    const { onSearched } = this.options;
    const { uses } = this.options.chain;
    if (until > sinceBlock) {
      const since = { from: sinceBlock + 1n, to: until };
      const outcome = uses.look(ref, since, onSearched);
      if (outcome === 'searching') return 'searching';
      if (outcome.kind === 'found') return outcome;
      const { readFrom } = outcome;
      if (readFrom === undefined || readFrom > since.from) return 'unknown';
    }
    const from = sinceBlock > LOOK_BACK_BLOCKS ? sinceBlock - LOOK_BACK_BLOCKS : 0n;
    const before = { from, to: sinceBlock };
    const outcome = uses.look(ref, before, onSearched, 'anybody');
    if (outcome === 'searching') return 'searching';
    return { use: outcome.kind === 'found' ? outcome.use : undefined };
  }

  /** The log of this settlement; one log pays for one settlement. */
  async #credited(
    id: string,
    { transaction, logIndex, otherLogs = [] }: AuthorizationUse,
  ): Promise<number | undefined> {
    if (logIndex === undefined) return undefined;
    const { endings, chain } = this.options;
    for (const log of [logIndex, ...otherLogs]) {
      if (await endings.credit(chain.chainId, transaction, log, id)) return log;
    }
    return undefined;
  }

  /** The log of a transaction of one of our own signers that made exactly this payment. */
  async #forgotten(id: string, use: AuthorizationUse): Promise<number | undefined> {
    const { transaction, logIndex } = use;
    if (logIndex === undefined) return undefined;
    const { chain, isOwnSigner } = this.options;
    const from = await chain.quorumRead({
      what: 'transaction sender',
      read: async (view) => {
        const value = (await view.transaction(transaction))?.from;
        return { value, key: String(value), subject: transaction };
      },
    });
    if (from === undefined || !(await isOwnSigner(from))) return undefined;
    return this.#credited(id, use);
  }

  /**
   * Who is to blame for a failure. Calls to wallets wait behind all other calls to new code. The outcome does not wait
   * for them: without an outcome the lane would send the failed claim again, and no account would be suspended.
   *
   * @returns `undefined` where it is not known in time.
   */
  async #culprits(
    payment: AcceptedPayment,
    failed: FailedTransaction,
    finalized: BlockHeader,
  ): Promise<readonly string[] | undefined> {
    const seen = await withTimeout(CULPRITS_MS, this.#culpritsIn(payment, failed, finalized));
    return seen.inTime ? seen.value : undefined;
  }

  /** By the block of the failure: since then a payer may have filled its channel again. */
  async #culpritsIn(
    payment: AcceptedPayment,
    { blockHash, blockNumber }: FailedTransaction,
    { hash: newest }: BlockHeader,
  ): Promise<readonly string[] | undefined> {
    const after = { blockHash };
    try {
      return await this.#culpritsAt(payment, { blockNumber: blockNumber - 1n }, after);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      // Nodes may have dropped the state of that block.
      return this.#culpritsAt(payment, { blockHash: newest }, { blockHash: newest });
    }
  }

  /** Who is seen to be to blame by the state before and after a block, as two endpoints say. */
  async #culpritsAt(
    { authorization }: AcceptedPayment,
    before: BlockPoint,
    after: Extract<BlockPoint, { readonly blockHash: Hex }>,
  ): Promise<readonly string[] | undefined> {
    const { culprits } = actionOf(authorization);
    if (culprits === undefined) return undefined;
    const { maxGas } = this.options;
    return this.#unlessInDoubt('culprits', async (view) => {
      const block = { before: stateAt(view, before), after: stateAt(view, after), maxGas };
      const value = await culprits.among(authorization, block);
      return { value, key: value.join(), subject: after.blockHash };
    });
  }

  /** The revert reason of the same call on the state that is final now. */
  async #revertReason(
    payment: AcceptedPayment,
    { isSuccess }: FailedTransaction,
    at: BlockPoint,
  ): Promise<Reason> {
    const action = actionOf(payment.authorization);
    const { noEvidence, transactionFailed } = action.reasons;
    if (isSuccess) return noEvidence;
    const { chain, maxGas } = this.options;
    try {
      const gas = gasCapOf(payment, maxGas);
      const outcome = await chain.withView((view) => view.call(callOf(payment), gas, at));
      const data = outcome.status === 'reverted' ? outcome.data : undefined;
      return action.reasonOfRevert(data) ?? transactionFailed;
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      return transactionFailed;
    }
  }
}

function waitingFor(state: 'hidden' | undefined): OutcomeVerdict {
  return { kind: 'waiting', ...(state === 'hidden' && { why: 'state_unreadable' }) };
}

/** A success shown by the state of the contract, whatever transaction caused it. */
function endedByState(
  id: string,
  ours: Omit<FailedTransaction, 'isSuccess'> | undefined,
): OutcomeVerdict {
  if (ours === undefined) return ended({ id, state: 'foreign', isPaid: true });
  const { transaction, blockNumber, blockHash } = ours;
  return ended({ id, state: 'finalized', isPaid: true, transaction, blockNumber, blockHash });
}

function ended(ending: Ending): OutcomeVerdict {
  return { kind: 'ended', ending };
}

function reasonsOf({ authorization }: AcceptedPayment): ActionReasons {
  return actionOf(authorization).reasons;
}
