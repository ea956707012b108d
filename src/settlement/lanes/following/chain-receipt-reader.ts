import type { Address, Hex } from 'viem';
import { isDone } from '../../../platform/chain/authorization-use.js';
import type { BlockHeader } from '../../../platform/chain/block.js';
import type { ChainView } from '../../../platform/chain/chain-view.js';
import { isPresent } from '../../../platform/chain/endpoint-health.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import type { Head } from '../../../platform/chain/head-watcher.js';
import { attempt } from '../../../platform/chain/hedge.js';
import type { Claim, Question } from '../../../platform/chain/quorum.js';
import type { Receipt } from '../../../platform/chain/receipt.js';
import type { Ability } from '../../../platform/chain/refusals.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import { creditLogs } from '../../../protocol/schemes/credit.js';
import { actionOf } from '../../../protocol/schemes/registry.js';
import { newestTransactionOf } from '../../model/attempt.js';
import type {
  Block,
  BlockState,
  InclusionLook,
  ReceiptReader,
  Replaced,
  SeenInclusion,
} from '../ports.js';
import type { Inclusion, TrackedAttempt } from '../state/tracked-attempt.js';

/** Reads from the chain which attempts are mined. An attempt that is not found is not decided. */
export class ChainReceiptReader implements ReceiptReader {
  constructor(
    private readonly chain: EvmChain,
    private readonly signer: Address,
  ) {}

  /**
   * Looks for the newest transaction of every attempt, and for all others of attempts with a used nonce, because any of
   * them may be the mined one. A finding is the answer of one endpoint.
   *
   * @throws ChainUnavailableError
   */
  async look(
    { view, latest }: Pick<Head, 'view' | 'latest'>,
    attempts: readonly TrackedAttempt[],
  ): Promise<InclusionLook> {
    const [count, newest] = await Promise.all([
      view.transactionCount(this.signer, 'latest'),
      Promise.all(attempts.map((one) => view.receipt(newestTransactionOf(one.attempt).hash))),
    ]);
    const included = new Map<TrackedAttempt, Inclusion>();
    const unread: number[] = [];
    await Promise.all(
      attempts.map(async (tracked, index) => {
        const receipt =
          newest[index] ??
          (tracked.accountNonce < count ? await olderReceipt(view, tracked) : undefined);
        if (receipt === undefined) return;
        // An unreadable state delays this attempt, and none of the others.
        const read = await attempt(() => inclusionOf(view, tracked, receipt));
        if (read === undefined) unread.push(tracked.accountNonce);
        else included.set(tracked, read.value);
      }),
    );
    const believed = await this.#believedCount(count, latest, attempts, included);
    // The transaction of an unread attempt was found: no other one has used its nonce.
    return { usedNonces: Math.min(believed, ...unread), included };
  }

  /**
   * A nonce whose transaction was found in a block needs no confirmation. Other nonces count as used only when a second
   * endpoint counts them, too.
   */
  async #believedCount(
    count: number,
    latest: BlockHeader,
    attempts: readonly TrackedAttempt[],
    included: ReadonlyMap<TrackedAttempt, Inclusion>,
  ): Promise<number> {
    const unexplained = attempts.some((one) => one.accountNonce < count && !included.has(one));
    const newest = attempts.at(-1)?.accountNonce ?? count;
    if (!unexplained && count <= newest + 1) return count;
    try {
      return await this.chain.transactionCountAt(this.signer, latest);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      // While no second endpoint confirms the count, only the transactions that were found are certain.
      const first = attempts.find((one) => !included.has(one));
      return first === undefined ? newest + 1 : Math.min(count, first.accountNonce);
    }
  }

  /** How many account nonces of the signer are used for good. @throws ChainUnavailableError */
  finalNonces(finalized: BlockHeader): Promise<number> {
    return this.chain.transactionCountAt(this.signer, finalized);
  }

  /**
   * All are asked at once. Silence does not mean absence, except from endpoints that are absent or cannot have
   * receipts.
   */
  async lookEverywhere(tracked: TrackedAttempt): Promise<SeenInclusion | undefined> {
    const looks = await Promise.all(
      this.chain.views().map(async (view) => {
        const done = await attempt(() => lookAt(view, tracked));
        return { view, inclusion: done?.value, isAnswered: done !== undefined };
      }),
    );
    const found = looks.find(
      (seen): seen is typeof seen & SeenInclusion => seen.inclusion !== undefined,
    );
    const isAnyMissing = looks.some(
      ({ view: { health }, isAnswered }) =>
        !isAnswered && isPresent(health) && !health.refusals.has('receipts'),
    );
    if (found === undefined && (isAnyMissing || !looks.some(({ isAnswered }) => isAnswered))) {
      throw new ChainUnavailableError(this.chain.chainId, 'receipt');
    }
    return found;
  }

  /**
   * The evidence on which two endpoints agree: the block, success or failure, cost and payee. A third one decides if
   * they differ.
   *
   * @param view - the endpoint that showed it.
   */
  async confirm(
    view: ChainView,
    tracked: TrackedAttempt,
    inclusion: Inclusion,
  ): Promise<Inclusion | undefined> {
    const read = async (witness: ChainView): Promise<Claim<Inclusion>> => {
      const receipt = await witness.receipt(inclusion.transaction);
      if (receipt === undefined) throw new ChainUnavailableError(witness.chainId, 'receipt');
      return claimOf(await inclusionOf(witness, tracked, receipt));
    };
    const known = { view, claim: claimOf(inclusion) };
    return this.#agreed('receipt', 'receipts', read, known);
  }

  /** @throws ChainUnavailableError */
  async replacedBlocks(
    { view, latest }: Pick<Head, 'view' | 'latest'>,
    blocks: readonly Block[],
  ): Promise<Replaced> {
    const distinct = [...new Map(blocks.map((block) => [block.hash, block])).values()];
    const standings = await Promise.all(
      distinct.map(async (block): Promise<BlockState> => {
        const { number, hash } = block;
        const seen = await view.block(number);
        if (seen?.hash === hash) return 'there';
        // A node without the block may lag, so it proves nothing.
        if (seen === undefined && latest.number < number) return 'unknown';
        const isGone = await this.#isReplaced(view, block);
        if (isGone === undefined) return 'unknown';
        return isGone ? 'replaced' : 'there';
      }),
    );
    const those = (wanted: BlockState): ReadonlySet<Hex> =>
      new Set(distinct.flatMap(({ hash }, index) => (standings[index] === wanted ? [hash] : [])));
    return { gone: those('replaced'), doubtful: those('unknown') };
  }

  /** If two others have the block, the endpoint that showed the head does not count. */
  async #isReplaced(view: ChainView, block: Block): Promise<boolean | undefined> {
    // Endpoints get a new block one after another, so a momentary difference is no contradiction.
    const claim = (isGone: boolean): Claim<boolean> => ({
      value: isGone,
      key: String(isGone),
      subject: String(isGone),
    });
    const read = async (witness: ChainView): Promise<Claim<boolean>> => {
      const seen = await witness.block(block.number);
      // An endpoint that lacks the block cannot say that another block replaced it.
      if (seen === undefined) throw new ChainUnavailableError(witness.chainId, 'replaced block');
      return claim(seen.hash !== block.hash);
    };
    const known = { view, claim: claim(true) };
    return this.#agreed('replaced block', 'blocks', read, known);
  }

  async standingOf({ number, hash }: Block, finalized: BlockHeader): Promise<BlockState> {
    const read = async (view: ChainView): Promise<Claim<boolean>> => {
      const seen = await view.block(number);
      // The block is not above this endpoint's final block: an endpoint that lacks it cannot answer now.
      if (seen === undefined) throw new ChainUnavailableError(view.chainId, 'final block');
      const isThere = seen.hash === hash;
      return { value: isThere, key: String(isThere), subject: finalized.hash };
    };
    const isThere = await this.#agreed('block of a payment', 'blocks', read);
    if (isThere === undefined) return 'unknown';
    return isThere ? 'there' : 'replaced';
  }

  async #agreed<T>(
    what: string,
    ability: Ability,
    read: Question<T>['read'],
    known?: Question<T>['known'],
  ): Promise<T | undefined> {
    try {
      return await this.chain.quorumRead({ what, ability, read, ...(known && { known }) });
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      return undefined;
    }
  }
}

async function olderReceipt(
  view: ChainView,
  { attempt }: TrackedAttempt,
): Promise<Receipt | undefined> {
  const older = attempt.transactions.slice(0, -1).reverse();
  const receipts = await Promise.all(older.map(({ hash }) => view.receipt(hash)));
  return receipts.find((receipt) => receipt !== undefined);
}

async function lookAt(view: ChainView, tracked: TrackedAttempt): Promise<Inclusion | undefined> {
  const receipts = await Promise.all(
    tracked.attempt.transactions.map(({ hash }) => view.receipt(hash)),
  );
  const receipt = receipts.find((one) => one !== undefined);
  return receipt && (await inclusionOf(view, tracked, receipt));
}

function claimOf(inclusion: Inclusion): Claim<Inclusion> {
  return { value: inclusion, key: keyOf(inclusion), subject: inclusion.blockHash };
}

/**
 * Every field that is used later: the block hash does not cover the node's other fields. The log shows keys that differ.
 */
function keyOf(inclusion: Inclusion): string {
  const { blockHash, blockNumber, isSuccess, gasUsed, effectiveGasPrice, credited } = inclusion;
  const paid = [...credited].map(([id, logIndex]) => `paid ${id}:${logIndex}`).sort();
  return [
    isSuccess ? 'success' : 'reverted',
    `block ${blockNumber} ${blockHash}`,
    `gas ${gasUsed}`,
    `price ${effectiveGasPrice}`,
    ...paid,
  ].join(', ');
}

async function inclusionOf(
  view: ChainView,
  tracked: TrackedAttempt,
  receipt: Receipt,
): Promise<Inclusion> {
  const { hash, blockNumber, blockHash, isSuccess, gasUsed, effectiveGasPrice, logs } = receipt;
  return {
    transaction: hash,
    blockNumber,
    blockHash,
    isSuccess,
    gasUsed,
    effectiveGasPrice,
    credited: isSuccess
      ? new Map([
          ...creditLogs(tracked.items, logs),
          ...(await doneByState(view, tracked, receipt)),
        ])
      : new Map(),
  };
}

/**
 * Settlements that the state after the block proves, because not every transaction leaves a log. A transaction that
 * only uses up the account nonce has done none of them, whatever others did before.
 */
async function doneByState(
  view: ChainView,
  tracked: TrackedAttempt,
  { hash, blockHash, logs }: Receipt,
): Promise<readonly (readonly [string, undefined])[]> {
  const items = tracked.items.filter(
    ({ payment }) => actionOf(payment.authorization).evidence.by === 'state',
  );
  if (items.length === 0 || !tracked.isSettledBy(hash)) return [];
  const found = await Promise.all(
    items.map(async ({ id, payment }) => {
      const { evidence } = actionOf(payment.authorization);
      if (evidence.by !== 'state') return [];
      const isShown =
        evidence.isShownIn?.(logs, payment.authorization) === true ||
        (await isDone(view, payment, { blockHash })) === true;
      return isShown ? [[id, undefined] as const] : [];
    }),
  );
  return found.flat();
}
