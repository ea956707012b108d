import { Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import type { BlockPoint } from '../../platform/chain/chain-queries.js';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { readUntil } from '../../platform/chain/read-until.js';
import type { FoundLog, Receipt } from '../../platform/chain/receipt.js';
import { type BlockRange, LOOK_BACK_BLOCKS } from '../../platform/chain/use-search/scan.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { ChainReader } from '../../protocol/evm/chain-reader.js';
import type { Payment } from '../../protocol/payment/payment.js';
import { actionOf } from '../../protocol/schemes/registry.js';
import type { LogTrace, Told } from '../../protocol/schemes/scheme.js';
import type { SettleAnswer, SettleAnswers } from './settle-answer.js';

/** How long an answer waits for its details, and between two attempts. */
const PATIENCE_MS = 3000;
/** The same where the time of its request is up. */
const LEAST_PATIENCE_MS = 500;
const AGAIN_MS = 200;

interface Asked {
  readonly payment: Payment;
  readonly chain: EvmChain;
  /** As `performance.now()` counts. */
  readonly until: number;
}

/** A transaction, that no transaction moved anything, or that the chain does not show which one it was. */
type Found = Hex | 'nothing' | 'unknown';

/** Facts as the chain shows them, or `unread`; `undefined` where the transaction did something else. */
type Facts = Told | 'unread' | undefined;

/**
 * Adds to a success the details of its action: amounts in its logs, and the state after its transaction. Both are read
 * from the chain for each answer, so that a repeated request has the same answer as the first one.
 */
@Injectable()
export class DoneFacts {
  /**
   * @param deadline - of the request, milliseconds since the epoch.
   * @returns the same answer, unless it is a success of an action that has details.
   */
  async added(
    answer: SettleAnswer,
    { payment, chain }: Omit<Asked, 'until'>,
    answers: SettleAnswers,
    deadline: number,
  ): Promise<SettleAnswer> {
    if (!answer.body.success) return answer;
    const action = actionOf(payment.claim);
    if (action.told === undefined) return answer;
    const leftMs = Math.max(deadline - Date.now(), LEAST_PATIENCE_MS);
    const until = performance.now() + Math.min(leftMs, PATIENCE_MS);
    const asked = { payment, chain, until };
    const own = answer.body.transaction as Hex | '';
    const [ofOwn, state] = await Promise.all([
      own === '' ? undefined : this.#read(asked, own),
      action.mayBeUntold === true ? undefined : this.#read(asked, undefined),
    ]);
    if (isRead(ofOwn)) return withFacts(answer, own, ofOwn);
    // The transaction of another sender was mined first: ours had no effect, or was never sent.
    const found = await this.#find(asked);
    const isFound = found?.startsWith('0x') === true;
    const ofFound = isFound ? await this.#read(asked, found as Hex) : undefined;
    if (isFound && isRead(ofFound)) return withFacts(answer, found as Hex, ofFound);
    if (action.mayBeUntold === true) return answer;
    // A final one is never called pending, though its amount may not be found any more.
    const isOpen = ofOwn === 'unread' && answer.finality !== 'finalized';
    if (isRead(state) && !isOpen) {
      const transaction = isFound ? (found as Hex) : ofOwn === 'unread' ? own : '';
      return withFacts(answer, transaction, found === 'nothing' ? { ...state, amount: 0n } : state);
    }
    return own === ''
      ? answers.failure('network_unavailable')
      : answers.of(answer.settlementId ?? '').pending(own);
  }

  /** The transaction of the action, as two endpoints say; `undefined` where they say nothing in time. */
  async #find({ payment, chain, until }: Asked): Promise<Found | undefined> {
    const trace = actionOf(payment.claim).traceOf?.(payment.claim, chain.chainId);
    if (trace === undefined) return undefined;
    return inTime(until, async () => {
      const range = await chain.recentBlocks(LOOK_BACK_BLOCKS);
      return chain.quorumRead({
        what: 'which transaction did it',
        read: async (view) => {
          const value = await findIn(view, trace, range);
          return { value, key: value };
        },
      });
    });
  }

  /** Two endpoints must agree, if there are two. */
  async #read({ payment, chain, until }: Asked, transaction: Hex | undefined): Promise<Facts> {
    const { claim } = payment;
    let isStateThere = true;
    const read = await inTime(until, async () => {
      const what = 'what a transaction did';
      return chain.quorumRead({
        what,
        read: async (view) => {
          const receipt = transaction && (await receiptOf(view, transaction));
          const at = isStateThere && receipt ? { blockHash: receipt.blockHash } : 'latest';
          try {
            const value = await actionOf(claim).told?.(claim, receipt, stateAt(view, at));
            return { value: { facts: value }, key: JSON.stringify([value], decimal) };
          } catch (error) {
            // A node that has dropped the state of an old block still has the newest state.
            isStateThere = false;
            throw error;
          }
        },
      });
    });
    return read === undefined ? 'unread' : read.facts;
  }
}

function isRead(facts: Facts): facts is Told {
  return facts !== undefined && facts !== 'unread';
}

/**
 * Searches the block that took the contract from before the action to after it. Logs of the same contract beside it are
 * of other actions.
 */
async function findIn(
  view: ChainView,
  { address, topics, stepsBeyond }: LogTrace,
  { from, to }: BlockRange,
): Promise<Found> {
  const stepsAt = async (at: BlockPoint): Promise<bigint> => {
    const steps = await stepsBeyond(stateAt(view, at));
    if (steps === undefined) throw new ChainUnavailableError(view.chainId, 'state of a contract');
    return steps;
  };
  // A node that lags knows no log of it yet.
  if ((await stepsAt('latest')) < 1n) throw new ChainUnavailableError(view.chainId, 'newest state');
  const logs = await view.logs({ address, topics, from, to });
  const isAfter = async ({ blockNumber }: FoundLog) => (await stepsAt({ blockNumber })) >= 1n;
  const first = await firstOf(logs, isAfter);
  const log = logs[first];
  if (log !== undefined) {
    const { blockNumber } = log;
    const before = await stepsAt({ blockNumber: blockNumber - 1n });
    const after = await stepsAt({ blockNumber });
    const isAlone = logs.filter((other) => other.blockNumber === blockNumber).length === 1;
    if (before === 0n && after === 1n && isAlone) return log.transactionHash;
    // Its block has several of them, and does not show which one is which.
    if (before < 1n) return 'unknown';
  }
  // It was done in a block without a log, after the log before or after the first block that is searched.
  const isInRange = first > 0 || (await stepsAt({ blockNumber: from })) < 1n;
  return isInRange ? 'nothing' : 'unknown';
}

/** The index of the first item that fulfils a condition which all later ones fulfil too; else their number. */
async function firstOf<T>(
  items: readonly T[],
  fulfils: (item: T) => Promise<boolean>,
): Promise<number> {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await fulfils(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function receiptOf(view: ChainView, transaction: Hex): Promise<Receipt> {
  const receipt = await view.receipt(transaction);
  if (receipt === undefined) throw new ChainUnavailableError(view.chainId, 'receipt');
  return receipt;
}

function stateAt(view: ChainView, at: BlockPoint): Pick<ChainReader, 'call' | 'chainId'> {
  return { chainId: view.chainId, call: (call, gas) => view.call(call, gas, at) };
}

function withFacts(
  answer: SettleAnswer,
  transaction: Hex | '',
  { amount, extra }: Told,
): SettleAnswer {
  const body = {
    ...answer.body,
    transaction,
    ...(amount !== undefined && { amount: amount.toString() }),
    extra: { ...answer.body.extra, ...extra },
  };
  return { ...answer, body };
}

/** Reads at least once, and again until it succeeds; no longer than until this time. */
function inTime<T>(until: number, read: () => Promise<T>): Promise<T | undefined> {
  return readUntil(Math.max(until, performance.now() + AGAIN_MS), AGAIN_MS, read);
}

function decimal(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
