import { Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import type { BlockPoint } from '../../platform/chain/chain-queries.js';
import { type ChainView, stateAt } from '../../platform/chain/chain-view.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { subjectAt } from '../../platform/chain/quorum.js';
import { readUntil } from '../../platform/chain/read-until.js';
import type { FoundLog, Receipt } from '../../platform/chain/receipt.js';
import { searchLogs } from '../../platform/chain/search-logs.js';
import { BudgetSpentError, SearchBudget, Slots } from '../../platform/chain/use-search/budget.js';
import { onlyOf } from '../../platform/chain/use-search/moved.js';
import { type BlockRange, LOOK_BACK_BLOCKS } from '../../platform/chain/use-search/scan.js';
import { withTimeout } from '../../platform/concurrency/timing.js';
import { CannotAnswerError, ChainUnavailableError } from '../../protocol/errors.js';
import { identityOf } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import { actionOf } from '../../protocol/schemes/registry.js';
import type { ActionDetails, LogTrace } from '../../protocol/schemes/scheme.js';
import type { Finality } from '../../settlement/model/settlement.js';
import type { SettleAnswer, SettleAnswers } from './settle-answer.js';

/** Time that an answer waits for its details, and the pause between two attempts. */
const PATIENCE_MS = 3000;
/** The time for the details where the request's own time is over. */
const LEAST_PATIENCE_MS = 500;
const AGAIN_MS = 200;
/** Limit of calls for a search at each endpoint; it has {@link PATIENCE_MS}. */
const SEARCH_CALLS = 120;
/** Limits of running and waiting searches. */
const SEARCHES = [4, 64] as const;
/** The time for which a result serves later requests. */
const KEPT_MS = 2000;

interface Asked {
  readonly payment: Payment;
  readonly chain: EvmChain;
  /** As `performance.now()` counts. */
  readonly until: number;
}

/**
 * A transaction; `another` where that transaction did another action instead; `nothing` where no transaction moved
 * anything; `unknown` where the chain does not show which one it was.
 */
type Found = Hex | 'another' | 'nothing' | 'unknown';

/** The facts from the chain, or `unread`; `undefined` where the transaction did something else. */
type ReadDetails = ActionDetails | 'unread' | undefined;

/**
 * Adds the details of its action to a success: the amounts in its logs and the state after its transaction. Both are
 * read from the chain for each answer, so that a repeated request gets the same answer.
 */
@Injectable()
export class ActionDetailsReader {
  readonly #slots = new Slots(...SEARCHES);
  readonly #searches = new Map<string, Promise<Found | undefined>>();

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
    if (action.detailsOf === undefined) return answer;
    const asked = { payment, chain, until: untilOf(deadline) };
    const own = answer.body.transaction as Hex | '';
    const [ofOwn, state] = await Promise.all([
      own === '' ? undefined : this.#read(asked, own),
      action.mayOmitDetails === true ? undefined : this.#read(asked, undefined),
    ]);
    if (isRead(ofOwn)) return withDetails(answer, own, ofOwn);
    // The transaction of another sender was mined first. Ours had no effect, or was never sent.
    const found = await this.#find(asked);
    const isFound = isTransaction(found);
    const ofFound = isFound ? await this.#read(asked, found) : undefined;
    if (isFound && isRead(ofFound)) return withDetails(answer, found, ofFound);
    if (action.mayOmitDetails === true) return answer;
    // A final action is never called pending, even if its amount cannot be found.
    const isOpen = ofOwn === 'unread' && answer.finality !== 'finalized';
    if (isRead(state) && !isOpen) {
      const transaction = isFound ? found : ofOwn === 'unread' ? own : '';
      return withDetails(
        answer,
        transaction,
        found === 'nothing' ? { ...state, amount: 0n } : state,
      );
    }
    return own === ''
      ? answers.failure('network_unavailable')
      : answers.of(answer.settlementId ?? '').pending(own);
  }

  /**
   * Whether the contract is past an action that leaves a trace, by any sender. Two endpoints must agree, if there are
   * two.
   *
   * @param deadline - of the request, milliseconds since the epoch.
   * @returns `undefined` where the endpoints do not agree in time.
   */
  async isDone(
    { payment, chain }: Omit<Asked, 'until'>,
    finality: Finality,
    deadline: number,
  ): Promise<boolean | undefined> {
    const trace = actionOf(payment.claim).traceOf?.(payment.claim, chain.chainId);
    if (trace === undefined) return false;
    return inTime(untilOf(deadline), async () => {
      const final = finality === 'finalized' ? await chain.currentFinalizedBlock() : undefined;
      if (finality === 'finalized' && final === undefined) return false;
      const at = final === undefined ? 'latest' : { blockHash: final.hash };
      return chain.quorumRead({
        what: 'state of an action',
        read: async (view) => {
          const value = (await stepsAt(view, trace, at)) >= 1n;
          return { value, key: String(value), subject: subjectAt(at, String(value)) };
        },
      });
    });
  }

  /**
   * Which action was done, once {@link isDone} shows that one was: another one may have taken the same step of the
   * contract.
   *
   * @param deadline - of the request, milliseconds since the epoch.
   * @returns `unknown` where a later search finds no more; `undefined` where the chain does not answer in time.
   */
  async whichIsDone(
    { payment, chain }: Omit<Asked, 'until'>,
    deadline: number,
  ): Promise<'this' | 'another' | 'unknown' | undefined> {
    const trace = actionOf(payment.claim).traceOf?.(payment.claim, chain.chainId);
    if (trace?.presents === undefined) return 'this';
    const found = await this.#find({ payment, chain, until: untilOf(deadline) });
    if (found === undefined || found === 'another') return found;
    return isTransaction(found) ? 'this' : 'unknown';
  }

  /**
   * The transaction of the action on which two endpoints agree; `undefined` where they do not in time. Requests for one
   * action share a search: a repeat needs no signature, and the lanes need the same endpoints.
   */
  async #find({ payment, chain, until }: Asked): Promise<Found | undefined> {
    const trace = actionOf(payment.claim).traceOf?.(payment.claim, chain.chainId);
    const key = identityOf(payment)?.termsTag;
    if (trace === undefined || key === undefined) return undefined;
    const search = this.#searches.get(key) ?? this.#search(key, chain, trace);
    const leftMs = Math.max(until - performance.now(), AGAIN_MS);
    const done = await withTimeout(leftMs, search);
    return done.inTime ? done.value : undefined;
  }

  #search(key: string, chain: EvmChain, trace: LogTrace): Promise<Found | undefined> {
    const search = this.#slots.run(() => searchIn(chain, trace)).then((done) => done?.value);
    this.#searches.set(key, search);
    const forget = (): void => {
      setTimeout(() => this.#searches.delete(key), KEPT_MS).unref();
    };
    search.then(forget, forget);
    return search;
  }

  /** Two endpoints must agree, if there are two. */
  async #read(
    { payment, chain, until }: Asked,
    transaction: Hex | undefined,
  ): Promise<ReadDetails> {
    const { claim } = payment;
    let isStateThere = true;
    const read = await inTime(until, async () => {
      const what = 'details of a settled action';
      return chain.quorumRead({
        what,
        read: async (view) => {
          const receipt = transaction && (await receiptOf(view, transaction));
          const at = isStateThere && receipt ? { blockHash: receipt.blockHash } : 'latest';
          try {
            const value = await actionOf(claim).detailsOf?.(claim, receipt, stateAt(view, at));
            const key = JSON.stringify([value], decimal);
            return { value: { facts: value }, key, subject: subjectAt(at, key) };
          } catch (error) {
            // A node that has pruned the state of an old block still has the newest state.
            isStateThere = false;
            throw error;
          }
        },
      });
    });
    return read === undefined ? 'unread' : read.facts;
  }
}

/** As `performance.now()` counts. */
function untilOf(deadline: number): number {
  const leftMs = Math.max(deadline - Date.now(), LEAST_PATIENCE_MS);
  return performance.now() + Math.min(leftMs, PATIENCE_MS);
}

function isRead(facts: ReadDetails): facts is ActionDetails {
  return facts !== undefined && facts !== 'unread';
}

function isTransaction(found: Found | undefined): found is Hex {
  return found?.startsWith('0x') === true;
}

/** @throws ChainUnavailableError also where the contract gives a malformed answer. */
async function stepsAt(view: ChainView, trace: LogTrace, at: BlockPoint): Promise<bigint> {
  const steps = await trace.stepsBeyond(stateAt(view, at));
  if (steps === undefined) throw new ChainUnavailableError(view.chainId, 'state of a contract');
  return steps;
}

/** @returns `undefined` where the endpoints do not agree within the limits of a search. */
async function searchIn(chain: EvmChain, trace: LogTrace): Promise<Found | undefined> {
  const budgets = new Map<string, SearchBudget>();
  const budgetOf = (endpoint: string): SearchBudget => {
    const budget = budgets.get(endpoint) ?? new SearchBudget(SEARCH_CALLS, PATIENCE_MS);
    budgets.set(endpoint, budget);
    return budget;
  };
  return inTime(performance.now() + PATIENCE_MS, async () => {
    let areLogsThere = false;
    const search = chain.quorumRead({
      what: 'transaction of an action',
      read: async (view) => {
        if (view.health.hasLogs === false) throw new CannotAnswerError(view.chainId, 'eth_getLogs');
        areLogsThere = true;
        try {
          const value = await findIn(view, trace, budgetOf(view.health.endpoint.name));
          return { value, key: value, subject: subjectAt('latest', value) };
        } catch (error) {
          if (!(error instanceof BudgetSpentError)) throw error;
          // The other endpoints go on.
          throw new ChainUnavailableError(view.chainId, 'search of logs');
        }
      },
    });
    return search.catch((error: unknown) => {
      // No endpoint has logs, so that a later search finds no more.
      if (error instanceof ChainUnavailableError && !areLogsThere) return 'unknown';
      throw error;
    });
  });
}

/** @throws BudgetSpentError */
async function findIn(view: ChainView, trace: LogTrace, budget: SearchBudget): Promise<Found> {
  const { address, topics, presents } = trace;
  const isBeyond = async (at: BlockPoint): Promise<boolean> => {
    budget.spend();
    return (await stepsAt(view, trace, at)) >= 1n;
  };
  // Up to the newest block of this node, whose state is read too: a node may be a block behind the others.
  budget.spend();
  const to = await view.blockNumber();
  const range = { from: to > LOOK_BACK_BLOCKS ? to - LOOK_BACK_BLOCKS : 0n, to };
  // A node that lags more has no log of the action yet.
  if (!(await isBeyond({ blockNumber: to }))) {
    throw new ChainUnavailableError(view.chainId, 'state of the newest searched block');
  }
  const logs = await searchLogs((piece) => {
    budget.spend();
    return view.logs({ address, topics, ...piece });
  }, range);
  const among = await logsOfStep(logs, range, isBeyond).catch((error: unknown) => {
    // A node that has dropped the state of old blocks still has the calldata of their transactions.
    if (presents !== undefined && error instanceof ChainUnavailableError) return logs;
    throw error;
  });
  if (typeof among === 'string') return among;
  budget.spend(among.length);
  return actionAmong(view, trace, among);
}

/**
 * The logs in the block that moved the contract past the action. Some of them may belong to other actions.
 *
 * @throws ChainUnavailableError
 */
async function logsOfStep(
  logs: readonly FoundLog[],
  range: BlockRange,
  isBeyond: (at: BlockPoint) => Promise<boolean>,
): Promise<readonly FoundLog[] | 'nothing' | 'unknown'> {
  const first = await firstOf(logs, ({ blockNumber }) => isBeyond({ blockNumber }));
  const log = logs[first];
  if (log !== undefined) {
    const { blockNumber } = log;
    if (!(await isBeyond({ blockNumber: blockNumber - 1n }))) {
      return logs.filter((other) => other.blockNumber === blockNumber);
    }
  }
  // The action left no log: it was done after the previous log, or after the first searched block.
  const isInRange = first > 0 || !(await isBeyond({ blockNumber: range.from }));
  return isInRange ? 'nothing' : 'unknown';
}

/** The action's transaction among those of these logs; with several that can be it, it is unknown which one is. */
async function actionAmong(
  view: ChainView,
  { presents }: LogTrace,
  logs: readonly FoundLog[],
): Promise<Found> {
  const fitting: Hex[] = [];
  let isAnother = false;
  for (const { transactionHash } of logs) {
    if (presents !== undefined) {
      const transaction = await view.transaction(transactionHash);
      if (transaction === undefined) throw new ChainUnavailableError(view.chainId, 'transaction');
      const presented = presents(transaction.input);
      isAnother ||= presented === 'another';
      if (presented !== 'this') continue;
    }
    fitting.push(transactionHash);
  }
  if (fitting.length === 0 && isAnother) return 'another';
  return onlyOf(fitting) ?? 'unknown';
}

/**
 * The index of the first item that meets a condition which all later items meet too; the number of items if none does.
 */
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

function withDetails(
  answer: SettleAnswer,
  transaction: Hex | '',
  { amount, extra }: ActionDetails,
): SettleAnswer {
  const body = {
    ...answer.body,
    transaction,
    ...(amount !== undefined && { amount: amount.toString() }),
    extra: Object.assign({}, answer.body.extra, extra),
  };
  return { ...answer, body };
}

/** Reads at least once, and repeats until it succeeds or the time is over. */
function inTime<T>(until: number, read: () => Promise<T>): Promise<T | undefined> {
  return readUntil(Math.max(until, performance.now() + AGAIN_MS), AGAIN_MS, read);
}

function decimal(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
