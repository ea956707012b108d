import type { Address, Hex } from 'viem';
import { readQuantity } from '../chain/block.js';
import type { EvmChain } from '../chain/evm-chain.js';
import type { Head } from '../chain/head-watcher.js';
import { deadlineOf } from '../core/exact/authorization.js';
import { assetNameOf, inFlightKindOf } from '../core/settlement/accepted-payment.js';
import type { Ending, HeldLane, LaneLedger } from '../ledger/lane-ledger.js';
import type { AttemptSender } from './attempt-sender.js';
import type { BatchSuspension } from './batch-suspension.js';
import type { FailureJudge } from './failure-judge.js';
import type { GasBook } from './gas-book.js';
import type { InclusionReader } from './inclusion-reader.js';
import type { LaneObserver } from './lane-observer.js';
import type { LanePace } from './lane-pace.js';
import type { Inclusion, TrackedAttempt } from './tracked-attempt.js';

export interface AttemptWatcherParts {
  readonly chain: EvmChain;
  readonly ledger: LaneLedger;
  readonly gasBook: GasBook;
  readonly observer: LaneObserver;
  readonly suspension: BatchSuspension;
  readonly sender: AttemptSender;
  readonly reader: InclusionReader;
  readonly judge: FailureJudge;
  readonly pace: LanePace;
  readonly signer: Address;
  readonly onFinished: (ids: readonly string[]) => void;
  /** A block took this many attempts: there is room for others. */
  readonly onRoom: (included: number) => void;
  readonly onStall: () => void;
}

/** Same bytes again after this many blocks: nodes do not announce a transaction twice. */
const REBROADCAST_BLOCKS = 4n;
/** A higher fee after this many blocks without inclusion: about 3.6 s on BNB Chain. */
const BUMP_BLOCKS = 8n;
/** The chain is not taking what it is sent. */
const STALL_BLOCKS = 6n;
/** Included this soon after it was sent counts as smooth. */
const SMOOTH_BLOCKS = 2n;

type Attempts = Map<number, TrackedAttempt>;

export interface Conclusions {
  /** Account nonces below this are used on chain, as far as this look tells. */
  readonly usedNonces: number;
  /** Whether the same block has nothing more to tell. */
  readonly isConclusive: boolean;
}

const NOTHING_NEW: Conclusions = { usedNonces: 0, isConclusive: true };

/** Follows the attempts of a lane from block to block until each has come to its end. */
export class AttemptWatcher {
  readonly #confirmedBlocks = new Set<string>();
  #stalledAtBlock = 0n;
  #lookedAt: Hex | undefined;

  constructor(
    private readonly lane: string,
    private readonly parts: AttemptWatcherParts,
  ) {}

  /**
   * Draws the conclusions of one head.
   *
   * @throws ChainUnavailableError, LeaseLostError, LedgerUnavailableError. The look may be repeated.
   */
  async follow(held: HeldLane, attempts: Attempts, head: Head): Promise<Conclusions> {
    // An attempt sent since the last look may have been too late for a block that was looked at.
    const isNews = this.#lookedAt !== head.latest.hash || takeSaidUsed(attempts);
    const conclusions = isNews ? await this.#lookAtBlock(held, attempts, head) : NOTHING_NEW;
    this.#lookedAt = conclusions.isConclusive ? head.latest.hash : undefined;
    await this.#finalize(held, attempts, head);
    return conclusions;
  }

  async #lookAtBlock(held: HeldLane, attempts: Attempts, head: Head): Promise<Conclusions> {
    const pending = [...attempts.values()].filter(({ inclusion }) => inclusion === undefined);
    const mined = [...attempts.values()].filter(({ inclusion }) => inclusion !== undefined);
    const [look] = await Promise.all([
      pending.length === 0 ? undefined : this.parts.reader.look(head.view, pending),
      this.#dropReplacedBlocks(held, mined, head),
    ]);
    if (look === undefined) return NOTHING_NEW;
    const { included, usedNonces } = look;
    const isConfirmed = await this.#include(held, included, head);
    const unseen = pending.filter((tracked) => !included.has(tracked));
    const missing = unseen.filter(({ accountNonce }) => accountNonce < usedNonces);
    const waiting = unseen.filter(({ accountNonce }) => accountNonce >= usedNonces);
    await this.#searchMissing(held, attempts, missing, head);
    await this.#pushOn(held, waiting, usedNonces, head);
    await this.#expire(held, waiting, head);
    return { usedNonces, isConclusive: isConfirmed && missing.length === 0 };
  }

  // ---------------------------------------------------------------- inclusion

  async #include(
    held: HeldLane,
    included: ReadonlyMap<TrackedAttempt, Inclusion>,
    head: Head,
  ): Promise<boolean> {
    let smooth = 0;
    let areAllConfirmed = true;
    const entries = [...included].sort(([a], [b]) => a.accountNonce - b.accountNonce);
    await Promise.all(
      entries.map(async ([tracked, inclusion]) => {
        if (!(await this.#isConfirmed(head, inclusion))) {
          areAllConfirmed = false;
          return;
        }
        const { attempt } = tracked;
        const items = [...inclusion.credited].map(([id, logIndex]) => ({ id, logIndex }));
        if (items.length > 0) {
          const block = {
            transaction: inclusion.transaction,
            number: inclusion.blockNumber,
            hash: inclusion.blockHash,
          };
          await this.parts.ledger.include(
            held,
            attempt.accountNonce,
            block,
            attempt.settlementIds.length,
            items,
          );
        }
        tracked.inclusion = inclusion;
        const latencyMs = Date.now() - tracked.sentAt;
        this.parts.pace.noteInclusion(latencyMs, items.length);
        this.#learnGas(tracked, inclusion);
        this.parts.observer.included(this.lane, attempt, inclusion, latencyMs);
        if (inclusion.blockNumber - attempt.allocatedAtBlock <= SMOOTH_BLOCKS) smooth += 1;
      }),
    );
    if (entries.length > 0) this.parts.onRoom(smooth);
    return areAllConfirmed;
  }

  async #isConfirmed({ view }: Head, { blockHash, blockNumber }: Inclusion): Promise<boolean> {
    if (this.#confirmedBlocks.has(blockHash)) return true;
    const isConfirmed = await this.parts.reader.isConfirmedElsewhere(view, blockNumber, blockHash);
    if (isConfirmed) {
      if (this.#confirmedBlocks.size > 100) this.#confirmedBlocks.clear();
      this.#confirmedBlocks.add(blockHash);
    }
    return isConfirmed;
  }

  #learnGas({ attempt, items }: TrackedAttempt, { isSuccess, gasUsed }: Inclusion): void {
    const [only] = items;
    if (isSuccess && attempt.kind === 'single' && only !== undefined) {
      this.parts.gasBook.note(only.payment, gasUsed);
    }
  }

  /** A block that was taken back: what it held is on its way again, with the same bytes. */
  async #dropReplacedBlocks(
    held: HeldLane,
    mined: readonly TrackedAttempt[],
    head: Head,
  ): Promise<void> {
    if (mined.length === 0) return;
    const numbers = [...new Set(mined.map(({ inclusion }) => inclusion?.blockNumber ?? 0n))];
    const hashes = await this.parts.reader.blockHashes(head.view, numbers);
    for (const tracked of mined) {
      const { inclusion, attempt } = tracked;
      if (inclusion === undefined) continue;
      const onChain = hashes.get(inclusion.blockNumber);
      // A node that does not have the block yet lags; that is no proof against it.
      if (onChain === undefined && head.latest.number < inclusion.blockNumber) continue;
      if (onChain === inclusion.blockHash) continue;
      const items = tracked.items
        .filter(({ id }) => inclusion.credited.has(id))
        .map(({ id, payment }) => ({
          id,
          inFlight: `${inFlightKindOf(payment)}:${payment.amount}`,
        }));
      await this.parts.ledger.uninclude(held, attempt.accountNonce, items);
      this.#confirmedBlocks.delete(inclusion.blockHash);
      tracked.inclusion = undefined;
      tracked.sentAtBlock = head.latest.number;
      this.parts.observer.reorged(this.lane, attempt);
      void this.parts.sender.broadcast(tracked);
    }
  }

  // ---------------------------------------------------------------- the way there

  /** Sends again what is not taken, with more to offer where that alone can help. */
  async #pushOn(
    held: HeldLane,
    waiting: readonly TrackedAttempt[],
    usedNonces: number,
    head: Head,
  ): Promise<void> {
    const now = head.latest.number;
    for (const tracked of waiting) {
      const isFirst = tracked.accountNonce === usedNonces;
      const isStuck = now - tracked.pricedAtBlock >= BUMP_BLOCKS;
      if (isFirst && (isStuck || tracked.needsNewBytes)) {
        if (await this.parts.sender.bump(held, tracked, head)) continue;
      }
      if (now - tracked.sentAtBlock >= REBROADCAST_BLOCKS) {
        tracked.sentAtBlock = now;
        this.parts.observer.rebroadcast(this.lane, tracked.attempt);
        void this.parts.sender.broadcast(tracked);
      }
    }
    const oldest = waiting[0];
    if (oldest === undefined || now - oldest.attempt.allocatedAtBlock < STALL_BLOCKS) return;
    if (now - this.#stalledAtBlock >= STALL_BLOCKS) {
      this.#stalledAtBlock = now;
      this.parts.onStall();
    }
  }

  /** Settlements that can not be paid any more, while their attempt is still on its way. */
  async #expire(held: HeldLane, waiting: readonly TrackedAttempt[], head: Head): Promise<void> {
    const { finalized } = head;
    if (finalized === undefined) return;
    for (const tracked of waiting) {
      const endings: Ending[] = [];
      for (const { id, payment } of tracked.items) {
        if (deadlineOf(payment.authorization) > BigInt(finalized.timestamp)) continue;
        const verdict = await this.parts.judge.judge(id, payment, tracked, undefined, finalized);
        if (verdict.kind === 'ended') endings.push(verdict.ending);
      }
      await this.#end(held, tracked, endings);
    }
  }

  /**
   * Attempts whose nonce is used on chain by a transaction that this node does not know as ours. Only
   * when that is final, and no endpoint knows one of ours, somebody else has used the nonce.
   */
  async #searchMissing(
    held: HeldLane,
    attempts: Attempts,
    missing: readonly TrackedAttempt[],
    head: Head,
  ): Promise<void> {
    const { finalized, view } = head;
    if (missing.length === 0 || finalized === undefined) return;
    const count = await view.read('eth_getTransactionCount', [
      this.parts.signer,
      { blockHash: finalized.hash },
    ]);
    const finalNonces = Number(readQuantity(count) ?? 0n);
    for (const tracked of missing) {
      if (tracked.accountNonce >= finalNonces) continue;
      const found = await this.parts.reader.lookEverywhere(tracked);
      if (found !== undefined) {
        await this.#include(held, new Map([[tracked, found]]), head);
        continue;
      }
      // Seen twice in a row: a receipt may come a moment after the block.
      if (!tracked.isMissing) {
        tracked.isMissing = true;
        continue;
      }
      this.parts.observer.nonceUsedByOther(this.lane, tracked.accountNonce);
      const { accountNonce, attempt, payments } = tracked;
      const ids = [...payments.keys()];
      await this.parts.ledger.requeue(held, accountNonce, attempt.allocatedAtBlock, ids);
      await this.#close(held, attempts, tracked);
    }
  }

  // ---------------------------------------------------------------- the end

  async #finalize(held: HeldLane, attempts: Attempts, head: Head): Promise<void> {
    const { finalized } = head;
    if (finalized === undefined) return;
    await Promise.all(
      [...attempts.values()].map(async (tracked) => {
        const { inclusion } = tracked;
        if (inclusion === undefined || inclusion.blockNumber > finalized.number) return;
        await this.#finalizeOne(held, attempts, tracked, inclusion, head);
      }),
    );
  }

  async #finalizeOne(
    held: HeldLane,
    attempts: Attempts,
    tracked: TrackedAttempt,
    inclusion: Inclusion,
    { finalized }: Head,
  ): Promise<void> {
    if (finalized === undefined) return;
    const { attempt } = tracked;
    const paid = [...inclusion.credited]
      .filter(([id]) => tracked.payments.has(id))
      .map(([id, logIndex]): Ending => ({ id, state: 'finalized', isPaid: true, logIndex }));
    await this.#end(held, tracked, paid);
    const endings: Ending[] = [];
    const requeued: string[] = [];
    for (const { id, payment } of tracked.items) {
      const verdict = await this.parts.judge.judge(id, payment, tracked, inclusion, finalized);
      if (verdict.kind === 'waiting') return;
      if (verdict.kind === 'requeue') requeued.push(id);
      else endings.push(verdict.ending);
    }
    await this.#end(held, tracked, endings);
    if (requeued.length > 0) {
      const { accountNonce, allocatedAtBlock } = attempt;
      await this.parts.ledger.requeue(held, accountNonce, allocatedAtBlock, requeued);
    }
    if (attempt.kind === 'batch' && !inclusion.isSuccess) this.#noteRevertedBatch(tracked);
    await this.#close(held, attempts, tracked);
    if (requeued.length > 0) this.parts.onRoom(0);
  }

  #noteRevertedBatch({ attempt, items }: TrackedAttempt): void {
    this.parts.observer.batchReverted(this.lane, attempt);
    for (const asset of new Set(items.map(({ payment }) => assetNameOf(payment)))) {
      this.parts.suspension.noteRevert(asset);
    }
  }

  async #end(held: HeldLane, tracked: TrackedAttempt, endings: readonly Ending[]): Promise<void> {
    if (endings.length === 0) return;
    await this.parts.ledger.finish(held, tracked.accountNonce, endings);
    this.parts.observer.ended(this.lane, tracked.attempt, endings);
    for (const { id, state } of endings) {
      const payment = tracked.payments.get(id);
      if (state === 'reverted' && payment !== undefined) {
        await this.parts.ledger.noteRevert(payment.chainId, payment.authorization.from);
      }
      tracked.payments.delete(id);
    }
    this.parts.onFinished(endings.map(({ id }) => id));
  }

  async #close(held: HeldLane, attempts: Attempts, tracked: TrackedAttempt): Promise<void> {
    const { accountNonce, inclusion } = tracked;
    const costWei = (inclusion?.gasUsed ?? 0n) * (inclusion?.effectiveGasPrice ?? 0n);
    await this.parts.ledger.closeAttempt(held, accountNonce, costWei);
    attempts.delete(accountNonce);
  }
}

/** Whether a node said of any attempt that its nonce is used, since this was last asked. */
function takeSaidUsed(attempts: Attempts): boolean {
  let isAny = false;
  for (const tracked of attempts.values()) {
    if (!tracked.isSaidUsed) continue;
    tracked.isSaidUsed = false;
    isAny = true;
  }
  return isAny;
}
