import type { Hex } from 'viem';
import { ChainUnavailableError, EndpointsDisagreeError } from '../../../protocol/errors.js';
import type { SchemeContracts } from '../../../protocol/evm/contracts.js';
import type { AuthorizationRef } from '../../../protocol/schemes/authorization-method.js';
import { presentedAuthorizations } from '../../../protocol/schemes/presented.js';
import { methodNamed } from '../../../protocol/schemes/registry.js';
import type { AuthorizationUse } from '../authorization-use.js';
import type { ChainView } from '../chain-view.js';
import { isPresent } from '../endpoint-health.js';
import type { Claim, Question } from '../quorum.js';
import { BlockIndex } from './block-index.js';
import { BudgetSpentError, SearchBudget, Slots } from './budget.js';
import { isSameAuthorization, movedBy, paidLogsOf } from './moved.js';
import { type BlockRange, scan, type Scanned } from './scan.js';

/** The result of a search; two endpoints confirm it, if there are two. */
export type UseOutcome =
  | { readonly kind: 'found'; readonly use: AuthorizationUse }
  /**
   * From this block to the end of the range, no transaction used it in a readable way. `undefined` when nothing is
   * known: not found does not mean absent.
   */
  | { readonly kind: 'not_found'; readonly readFrom: bigint | undefined };

/** The part of a chain that a search reads. */
interface SearchedChain {
  readonly chainId: number;
  readonly schemeContracts: SchemeContracts;
  views(): readonly ChainView[];
  quorumRead<T>(question: Question<T>): Promise<T>;
}

/**
 * The caller of a search: lanes, for an outcome that a request waits for, or any other caller, for a transaction hash.
 */
type Searcher = 'lane' | 'anybody';

/** Limits of calls and milliseconds for a search at one endpoint. */
const BUDGETS: Readonly<Record<Searcher, readonly [calls: number, ms: number]>> = {
  lane: [300, 20_000],
  anybody: [60, 3000],
};
/** Limits of running and waiting searches. Lanes have their own places. */
const SLOTS: Readonly<Record<Searcher, readonly [running: number, waiting: number]>> = {
  lane: [4, 10_000],
  anybody: [4, 64],
};
/** Limits of the cache of results; mistakes of nodes and replaced blocks pass. */
const KEPT_MAX = 2000;
const KEPT_MS = 8000;
/** Pause after an endpoint failed. */
const AGAIN_MS = 250;

interface Running {
  readonly range: BlockRange;
  readonly result: Promise<UseOutcome>;
}

interface Failed {
  readonly at: number;
  readonly error: unknown;
}

interface Kept {
  readonly range: BlockRange;
  readonly outcome: UseOutcome;
  readonly at: number;
}

const UNREAD = { kind: 'not_found', readFrom: undefined } as const;

/**
 * Finds the transaction that used an authorization. Concurrent callers share a search; it is limited in calls and time,
 * and its result is cached briefly.
 */
export class UseSearch {
  readonly #index: BlockIndex;
  readonly #slots = { lane: new Slots(...SLOTS.lane), anybody: new Slots(...SLOTS.anybody) };
  readonly #running = new Map<string, Running>();
  readonly #kept = new Map<string, Kept>();
  readonly #failed = new Map<string, Failed>();

  constructor(private readonly chain: SearchedChain) {
    this.#index = new BlockIndex(chain.schemeContracts);
  }

  /**
   * Searches, or waits for the same search of another caller.
   *
   * @throws ChainUnavailableError when the chain does not answer now.
   */
  async find(
    ref: AuthorizationRef,
    range: BlockRange,
    searcher: Searcher = 'anybody',
  ): Promise<UseOutcome> {
    const key = keyOf(ref);
    const kept = this.#keptOf(key);
    if (kept !== undefined && covers(kept, range)) return kept.outcome;
    const running = this.#running.get(key);
    if (running !== undefined && running.range.from <= range.from && running.range.to >= range.to) {
      return running.result;
    }
    return this.#start(key, ref, range, searcher);
  }

  /**
   * The same without waiting: begins a search if none runs, and returns the known state.
   *
   * @param range - at its end the authorization is used; a slightly older search serves too.
   * @param onDone - called when a search started by this call has ended.
   * @param searcher - a failed search by `anybody` counts as not found; that of a lane is repeated.
   * @throws the error of the last such search, if the chain is not its cause.
   */
  look(
    ref: AuthorizationRef,
    range: BlockRange,
    onDone: () => void,
    searcher: Searcher = 'lane',
  ): UseOutcome | 'searching' {
    const key = `${keyOf(ref)} ${range.from}`;
    const kept = this.#keptOf(key);
    if (kept !== undefined) return kept.outcome;
    const failed = this.#failed.get(key);
    if (failed !== undefined && !(failed.error instanceof ChainUnavailableError)) {
      this.#failed.delete(key);
      throw failed.error;
    }
    const isTooSoon = failed !== undefined && performance.now() - failed.at < AGAIN_MS;
    if (this.#running.has(key) || isTooSoon) return 'searching';
    this.#start(key, ref, range, searcher)
      .catch((error: unknown) => {
        if (searcher === 'lane' || !(error instanceof ChainUnavailableError)) return;
        this.#keep(key, { range, outcome: UNREAD, at: performance.now() });
      })
      .finally(onDone)
      .catch(() => undefined);
    return 'searching';
  }

  #start(
    key: string,
    ref: AuthorizationRef,
    range: BlockRange,
    searcher: Searcher,
  ): Promise<UseOutcome> {
    const result = this.#slots[searcher]
      .run(() => this.#search(ref, range, searcher))
      .then((done) => {
        const outcome = done?.value ?? UNREAD;
        this.#failed.delete(key);
        if (done !== undefined) this.#keep(key, { range, outcome, at: performance.now() });
        return outcome;
      })
      .catch((error: unknown) => {
        if (this.#failed.size >= KEPT_MAX) this.#failed.clear();
        this.#failed.set(key, { at: performance.now(), error });
        throw error;
      })
      .finally(() => {
        if (this.#running.get(key)?.result === result) this.#running.delete(key);
      });
    this.#running.set(key, { range, result });
    return result;
  }

  async #search(ref: AuthorizationRef, range: BlockRange, searcher: Searcher): Promise<UseOutcome> {
    const all = this.chain.views();
    const present = all.filter(({ health }) => isPresent(health));
    const views = (present.length === 0 ? all : present).slice(0, 3);
    const readFrom: (bigint | undefined)[] = [];
    for (const view of views) {
      const scanned = await this.#scan(view, ref, range, searcher);
      if (scanned?.kind === 'found') return this.#confirm(ref, scanned.transaction, range);
      if (scanned !== undefined) readFrom.push(scanned.readFrom);
      if (readFrom.length === 2) break;
    }
    const needed = views.filter(({ health }) => isPresent(health)).length > 1 ? 2 : 1;
    if (readFrom.length < needed) {
      throw new ChainUnavailableError(this.chain.chainId, 'search of logs');
    }
    // A block that one of them did not read may hold the use, so absence is not proved.
    return { kind: 'not_found', readFrom: leastOf(readFrom) };
  }

  async #scan(
    view: ChainView,
    ref: AuthorizationRef,
    range: BlockRange,
    searcher: Searcher,
  ): Promise<Scanned | undefined> {
    const budget = new SearchBudget(...BUDGETS[searcher]);
    try {
      const isThorough = searcher === 'lane';
      return await scan({ view, ref, range, index: this.#index, budget, isThorough });
    } catch (error) {
      if (error instanceof BudgetSpentError) return UNREAD;
      if (!(error instanceof ChainUnavailableError)) throw error;
      return undefined;
    }
  }

  /** The result of one endpoint is evidence when another one has the same receipt. */
  async #confirm(ref: AuthorizationRef, hash: Hex, { from, to }: BlockRange): Promise<UseOutcome> {
    const method = methodNamed(ref.method);
    const read = async (view: ChainView): Promise<Claim<AuthorizationUse | undefined>> => {
      const [receipt, transaction] = await Promise.all([
        view.receipt(hash),
        view.transaction(hash),
      ]);
      if (receipt === undefined || transaction === undefined) {
        throw new ChainUnavailableError(view.chainId, 'receipt');
      }
      const { to, input } = transaction;
      const { blockHash, blockNumber } = receipt;
      const presented = presentedAuthorizations(to, input, this.chain.schemeContracts);
      const isUser =
        receipt.isSuccess &&
        (method.useEvents.length > 0
          ? method.isNamedIn(receipt.logs, ref)
          : presented.some((one) => isSameAuthorization(one, ref)));
      const moved = movedBy(ref, receipt, presented);
      const paidLogs = paidLogsOf(ref, receipt, presented);
      const [logIndex, ...otherLogs] = paidLogs;
      const value = isUser
        ? {
            transaction: hash,
            blockNumber,
            blockHash,
            logIndex,
            ...(otherLogs.length > 0 && { otherLogs }),
            ...(moved && { moved }),
          }
        : undefined;
      const facts = [blockHash, blockNumber, isUser, paidLogs, moved?.payTo, moved?.amount];
      return { value, key: facts.join(' '), subject: blockHash };
    };
    const use = await this.chain.quorumRead({ what: 'receipt', read });
    if (use === undefined) throw new EndpointsDisagreeError(this.chain.chainId, 'search of logs');
    // A wrong node may name a transaction of another block, which is not final.
    if (use.blockNumber < from || use.blockNumber > to) {
      throw new ChainUnavailableError(this.chain.chainId, 'search of logs');
    }
    return { kind: 'found', use };
  }

  #keptOf(key: string): Kept | undefined {
    const kept = this.#kept.get(key);
    return kept !== undefined && performance.now() - kept.at < KEPT_MS ? kept : undefined;
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function covers(kept: Kept, range: BlockRange): boolean {
  if (isFoundIn(kept, range)) return true;
  return kept.range.from <= range.from && kept.range.to >= range.to;
}

function isFoundIn({ outcome }: Kept, { from, to }: BlockRange): boolean {
  if (outcome.kind !== 'found') return false;
  const { blockNumber } = outcome.use;
  return blockNumber >= from && blockNumber <= to;
}

/** The highest of the blocks down to which each endpoint has read; `undefined` when one has read none. */
function leastOf(readFrom: readonly (bigint | undefined)[]): bigint | undefined {
  return readFrom.reduce((most, one) =>
    most === undefined || one === undefined ? undefined : one > most ? one : most,
  );
}

function keyOf({
  method,
  asset,
  payer,
  nonce,
  payTo = '0x',
  amount,
  shownBy,
}: AuthorizationRef): string {
  const paid = [payTo, amount ?? '', ...(shownBy?.topics ?? [])];
  return [method, asset, payer, nonce, ...paid].join(' ');
}
