import type { Address } from 'viem';
import { type AuthorizationUse, isDone, refOf } from '../../../platform/chain/authorization-use.js';
import type { BlockHeader } from '../../../platform/chain/block.js';
import type { BlockPoint } from '../../../platform/chain/chain-queries.js';
import type { ChainView } from '../../../platform/chain/chain-view.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import type { Claim } from '../../../platform/chain/quorum.js';
import { ChainUnavailableError, EndpointsDisagreeError } from '../../../protocol/errors.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import { callOf, gasCapOf, isExpiredAt } from '../../../protocol/payment/payment-facts.js';
import type { Reason } from '../../../protocol/reasons.js';
import { actionOf } from '../../../protocol/schemes/registry.js';
import type { ActionReasons } from '../../../protocol/schemes/scheme.js';
import type { Ending, LaneEndings, SentBefore } from '../../ledger/lane-store.js';
import type { Attempt } from '../../model/attempt.js';
import type { OutcomeResolver, OutcomeVerdict } from '../ports.js';
import type { Inclusion, TrackedAttempt } from '../state/tracked-attempt.js';

/**
 * An attempt may still be mined, was mined without paying, is said to have failed, or can never be
 * mined.
 */
type AttemptFate = 'in_flight' | 'mined' | 'failed' | 'dead';

/** Blocks before the attempt in which the authorization may have been used without our knowing. */
const LOOK_BACK_BLOCKS = 5000n;

interface ChainOutcomeResolverOptions {
  readonly chain: EvmChain;
  readonly endings: LaneEndings;
  readonly maxGas: bigint;
  /** Told when a search has ended: what waits for it can be judged again. */
  readonly onSearched: () => void;
  /** Whether this address is one of the facilitator's signers, whatever the ledger has kept of it. */
  readonly isOwnSigner: (address: Address) => Promise<boolean>;
}

/**
 * Judges settlements that were not paid by the attempt that carried them, by the state of one
 * finalized block: nothing read here can be taken back by the chain. Two endpoints have to say the
 * same; where they do not, or where who used an authorization is still searched for, it waits.
 */
export class ChainOutcomeResolver implements OutcomeResolver {
  constructor(private readonly options: ChainOutcomeResolverOptions) {}

  /**
   * @param inclusion - where the attempt was finalized; absent while it may still land.
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
    if (isUsed === undefined) return { kind: 'waiting' };
    if (isUsed && isShownByState(payment)) {
      const isOurs = inclusion?.isSuccess === true && tracked.isSettledBy(inclusion.transaction);
      return endedByState(id, isOurs ? inclusion : undefined);
    }
    if (isUsed) {
      const { attempt } = tracked;
      const sinceBlock = await this.#sentSince(attempt, finalized);
      if (sinceBlock === undefined) return { kind: 'waiting' };
      const sent = {
        sinceBlock,
        hashes: attempt.transactions.map(({ hash }) => hash),
      };
      return this.#resolveUsed(id, payment, sent, fateOf(inclusion), finalized);
    }
    if (isExpiredAt(payment, finalized.timestamp)) {
      return ended({ id, state: 'expired', isPaid: false, reason: reasonsOf(payment).expired });
    }
    if (inclusion === undefined) return { kind: 'waiting' };
    const isSettling = tracked.isSettledBy(inclusion.transaction);
    if (tracked.attempt.kind === 'batch' || !isSettling) return { kind: 'requeue' };
    return ended({
      id,
      state: 'reverted',
      isPaid: false,
      transaction: inclusion.transaction,
      blockNumber: inclusion.blockNumber,
      blockHash: inclusion.blockHash,
      reason: await this.#revertReason(payment, inclusion, { blockHash: finalized.hash }),
    });
  }

  /**
   * What becomes of a settlement that no attempt in flight carries, by a final block. It may be used
   * all the same.
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
    if (isUsed === undefined) return { kind: 'waiting' };
    if (isUsed && isShownByState(payment)) return endedByState(id, undefined);
    if (isUsed) return this.#resolveUsed(id, payment, sent, 'dead', finalized);
    if (isExpiredAt(payment, finalized.timestamp)) {
      return ended({ id, state: 'expired', isPaid: false, reason: reasonsOf(payment).expired });
    }
    return { kind: 'requeue' };
  }

  /**
   * In a final block, as two endpoints say. A token that answers each of them differently, or does not
   * answer, waits alone: unknown is not unused.
   */
  async #isUsed(payment: AcceptedPayment, { hash }: BlockHeader): Promise<boolean | undefined> {
    return this.#unlessInDoubt('authorization state', async (view) => {
      const isUsed = await isDone(view, payment, { blockHash: hash });
      return { value: isUsed, key: String(isUsed), subject: hash };
    });
  }

  /**
   * The newest block that any endpoint knew when an attempt was about to be sent. A block that one endpoint alone had
   * shown counts if the chain has it: a head that was too high has another hash, or none.
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
   * Used, but not as its attempt should have. A copy of the lane's transaction after its broadcast still paid the payee
   * because of this facilitator; in any other case the payment was presented elsewhere.
   */
  async #resolveUsed(
    id: string,
    payment: AcceptedPayment,
    sent: SentBefore,
    fate: AttemptFate,
    finalized: BlockHeader,
  ): Promise<OutcomeVerdict> {
    const searched = this.#searchUse(payment, sent.sinceBlock, finalized.number);
    if (searched === 'searching') return { kind: 'searching' };
    if (searched === 'unknown') return { kind: 'waiting' };
    const { use } = searched;
    const isOurs = use !== undefined && sent.hashes.includes(use.transaction);
    // Its receipt is yet to be seen.
    if (fate === 'in_flight' && (isOurs || use === undefined)) return { kind: 'waiting' };
    const place = use && {
      transaction: use.transaction,
      blockNumber: use.blockNumber,
      blockHash: use.blockHash,
    };
    if (isOurs) {
      // It was taken for dead or failed, and is neither: the node that said so was wrong.
      const isContradicted = fate === 'dead' || fate === 'failed';
      const logIndex = isContradicted ? await this.#credited(id, use) : undefined;
      if (logIndex !== undefined) {
        return ended({ id, state: 'finalized', isPaid: true, ...place, logIndex });
      }
      const reason = reasonsOf(payment).noEvidence;
      return ended({ id, state: 'reverted', isPaid: false, ...place, reason });
    }
    // The ledger may have lost the attempt, or the whole lane: the chain has not.
    const forgotten = use && (await this.#forgotten(id, use));
    if (forgotten !== undefined) {
      const logIndex = forgotten;
      return ended({ id, state: 'finalized', isPaid: true, ...place, logIndex });
    }
    const { isDoneByAnybody = false, reasons } = actionOf(payment.authorization);
    const isSince = use !== undefined && use.blockNumber > sent.sinceBlock;
    const copied = isSince ? await this.#credited(id, use) : undefined;
    if (copied !== undefined || (use !== undefined && isDoneByAnybody)) {
      const logIndex = copied ?? use?.logIndex;
      const evidence = { ...place, ...(logIndex !== undefined && { logIndex }) };
      return ended({ id, state: 'foreign', isPaid: true, ...evidence, batchSize: 1 });
    }
    // Presented elsewhere before the lane's broadcast. The refusal says if that transaction has paid the payee.
    const { payTo, amount } = refOf(payment);
    const { moved } = use ?? {};
    const isMoved = moved !== undefined && moved.payTo === payTo && moved.amount === amount;
    const evidence = { ...place, ...(isMoved && { logIndex: moved.logIndex }) };
    return ended({ id, state: 'foreign', isPaid: false, ...evidence, reason: reasons.used });
  }

  /**
   * Searches the transaction that used it. Only a use since the broadcast decides anything, and there not found is not
   * absent; an older one is named as a courtesy.
   *
   * @returns `unknown` while the chain cannot be read.
   */
  #searchUse(
    payment: AcceptedPayment,
    sinceBlock: bigint,
    until: bigint,
  ): { readonly use: AuthorizationUse | undefined } | 'unknown' | 'searching' {
    // A block of the time before the broadcast does not tell what happened since.
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

  /** The log that is this settlement's: one log pays for one. */
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

  /** The revert reason of the same call on the state that is final now. */
  async #revertReason(
    payment: AcceptedPayment,
    inclusion: Inclusion,
    at: BlockPoint,
  ): Promise<Reason> {
    const action = actionOf(payment.authorization);
    const { noEvidence, transactionFailed } = action.reasons;
    if (inclusion.isSuccess) return noEvidence;
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

function isShownByState({ authorization }: AcceptedPayment): boolean {
  return actionOf(authorization).evidence.by === 'state';
}

/** A success shown by the state of the contract: any transaction may have brought it about. */
function endedByState(id: string, ours: Inclusion | undefined): OutcomeVerdict {
  if (ours === undefined) return ended({ id, state: 'foreign', isPaid: true });
  const { transaction, blockNumber, blockHash } = ours;
  return ended({ id, state: 'finalized', isPaid: true, transaction, blockNumber, blockHash });
}

function fateOf(inclusion: Inclusion | undefined): AttemptFate {
  if (inclusion === undefined) return 'in_flight';
  return inclusion.isSuccess ? 'mined' : 'failed';
}

function ended(ending: Ending): OutcomeVerdict {
  return { kind: 'ended', ending };
}

function reasonsOf({ authorization }: AcceptedPayment): ActionReasons {
  return actionOf(authorization).reasons;
}
