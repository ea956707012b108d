import type { Redis } from 'ioredis';
import type { Hex } from 'viem';
import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import type { Journal } from '../audit/journal.js';
import { dueKey } from '../wallet-keys.js';
import type { WalletObserver } from '../wallet-observer.js';
import { type Due, readDue, writeDue } from './due.js';
import { isUsedNow, readFinalUse } from './final-use.js';
import type { SpendingStore } from './spending-store.js';
import { useTransaction } from './use-transaction.js';

const INTERVAL_MS = 5000;
const BATCH = 100;
/** A block after the deadline has to be final before it proves anything: about a second on BNB. */
const FINAL_AFTER_SECONDS = 3;
/** What could not be told is asked again after this long. */
const AGAIN_SECONDS = 30;

/** `open` while the chain can still execute it, cannot be asked, or is told of in two ways. */
export type Fate =
  | { readonly kind: 'open' }
  /** Executed in a block that is not final yet. */
  | { readonly kind: 'seen' }
  | { readonly kind: 'spent' }
  /** Proven at a final block after its deadline. */
  | { readonly kind: 'unspent'; readonly block: bigint };

export interface ReconcilerParts {
  readonly redis: Redis;
  readonly store: SpendingStore;
  readonly chains: ChainRegistry;
  readonly journal: Pick<Journal, 'append'>;
  readonly observer: Pick<WalletObserver, 'counted'>;
  /** Unix seconds. */
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Looks up what became of spendings whose deadline has passed. A budget is given back only when a
 * final block later than the deadline shows the authorization unused: nothing can execute it then.
 */
export class Reconciler {
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(private readonly parts: ReconcilerParts) {}

  start(): void {
    this.#timer = setInterval(() => void this.#tick(), INTERVAL_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** What became of one spending; where it is known for good, budget and journal say so too. */
  async look(due: Due): Promise<Fate> {
    const fate = await this.#fateOf(due);
    if (fate.kind === 'open' || fate.kind === 'seen' || !(await this.#isDue(due))) return fate;
    const { wallet, spending } = due;
    // The charge, not the authorization alone: it may have been charged again since.
    const { id, deadline } = spending;
    const common = { at: this.parts.now(), wallet, spending: id, deadline };
    if (fate.kind === 'spent') {
      await this.parts.journal.append({ event: 'spent', ...common });
      const isNews = await redisCall('wallet_due', this.parts.redis.zrem(dueKey(), writeDue(due)));
      if (isNews === 1) this.parts.observer.counted({ step: 'spent', spending });
    } else {
      const block = fate.block.toString();
      await this.parts.journal.append({ event: 'released', ...common, block });
      const isNews = await this.parts.store.release(due);
      if (isNews) this.parts.observer.counted({ step: 'released', spending });
    }
    return fate;
  }

  /**
   * The transaction of a spending that was executed.
   *
   * @param claimed - as the seller says.
   * @returns `undefined` where the chain does not show it just now.
   */
  async transactionOf(
    { wallet, spending }: Due,
    claimed: Hex | undefined,
  ): Promise<Hex | undefined> {
    const chain = this.parts.chains.served(spending.chainId);
    if (chain === undefined || spending.method === 'transaction') return undefined;
    const { method, asset, nonce, payTo, amount } = spending;
    return useTransaction(chain, { method, asset, payer: wallet, nonce, payTo, amount }, claimed);
  }

  /** What has been told once is not told again, however often somebody asks. */
  async #isDue(due: Due): Promise<boolean> {
    const score = await redisCall('wallet_due', this.parts.redis.zscore(dueKey(), writeDue(due)));
    return score !== null;
  }

  async #tick(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      const now = this.parts.now();
      const latest = now - FINAL_AFTER_SECONDS;
      const members = await this.parts.redis.zrangebyscore(
        dueKey(),
        '-inf',
        latest,
        'LIMIT',
        0,
        BATCH,
      );
      for (const member of members) {
        const due = readDue(member);
        const { kind } = due === undefined ? { kind: 'forged' } : await this.look(due);
        if (kind === 'open' || kind === 'seen')
          await this.parts.redis.zadd(dueKey(), 'XX', now + AGAIN_SECONDS, member);
        if (kind === 'forged') await this.parts.redis.zrem(dueKey(), member);
      }
    } catch (error) {
      this.parts.onFailure(error);
    } finally {
      this.#isRunning = false;
    }
  }

  async #fateOf({ wallet, spending }: Due): Promise<Fate> {
    const chain = this.parts.chains.served(spending.chainId);
    if (chain === undefined || spending.method === 'transaction') return { kind: 'open' };
    const { method, asset, nonce, payTo, amount, deadline } = spending;
    const ref = { method, asset, payer: wallet, nonce, payTo, amount };
    const found = await readFinalUse(chain.views(), ref);
    if (found.kind === 'disputed') {
      this.parts.onFailure(new Error('endpoints contradict each other about a final block'));
    }
    if (found.kind !== 'known') return { kind: 'open' };
    if (found.isUsed) return { kind: 'spent' };
    // By our own clock, too: the time of a block is what nodes say it is.
    const isOver = found.block.timestamp > deadline && this.parts.now() > deadline;
    if (isOver) return { kind: 'unspent', block: found.block.number };
    return { kind: (await isUsedNow(chain.views(), ref)) ? 'seen' : 'open' };
  }
}
