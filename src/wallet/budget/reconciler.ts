import type { Redis } from 'ioredis';
import { isAuthorizationUsed } from '../../chain/authorization-use.js';
import { readBlockHeader } from '../../chain/block.js';
import type { ChainRegistry } from '../../chain/chain-registry.js';
import type { ChainView } from '../../chain/chain-view.js';
import { ChainUnavailableError } from '../../core/errors.js';
import { ledgerCall } from '../../redis/redis-scripts.js';
import type { Journal } from '../audit/journal.js';
import type { WalletObserver } from '../wallet-observer.js';
import { dueKey } from '../wallet-keys.js';
import { type Due, readDue, writeDue } from './due.js';
import type { SpendingStore } from './spending-store.js';

const INTERVAL_MS = 5000;
const BATCH = 100;
/** A block after the deadline has to be final before it proves anything: about a second on BNB. */
const FINAL_AFTER_SECONDS = 3;
/** What could not be told is asked again after this long. */
const AGAIN_SECONDS = 30;

/** `open` while the chain can still execute it, or cannot be asked. */
export type Fate =
  | { readonly kind: 'open' | 'spent' }
  /** Proven at a final block after its deadline. */
  | { readonly kind: 'unspent'; readonly block: bigint };

/**
 * Looks up what became of spendings whose deadline has passed. A budget is given back only when a
 * final block later than the deadline shows the authorization unused: nothing can execute it then.
 */
export class Reconciler {
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(
    private readonly redis: Redis,
    private readonly store: SpendingStore,
    private readonly chains: ChainRegistry,
    private readonly journal: Journal,
    private readonly observer: Pick<WalletObserver, 'counted'>,
    private readonly now: () => number,
    private readonly onFailure: (error: unknown) => void,
  ) {}

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
    const { wallet, spending } = due;
    const common = { at: this.now(), wallet, spending: spending.id };
    if (fate.kind === 'spent') {
      await this.journal.append({ event: 'spent', ...common });
      const isNews = await ledgerCall('wallet_due', this.redis.zrem(dueKey(), writeDue(due)));
      if (isNews === 1) this.observer.counted({ step: 'spent', spending });
    }
    if (fate.kind === 'unspent') {
      const block = fate.block.toString();
      await this.journal.append({ event: 'released', ...common, block });
      const isNews = await this.store.release(due);
      if (isNews) this.observer.counted({ step: 'released', spending });
    }
    return fate;
  }

  async #tick(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      const now = this.now();
      const latest = now - FINAL_AFTER_SECONDS;
      const members = await this.redis.zrangebyscore(dueKey(), '-inf', latest, 'LIMIT', 0, BATCH);
      for (const member of members) {
        const { kind } = await this.look(readDue(member));
        if (kind === 'open') await this.redis.zadd(dueKey(), 'XX', now + AGAIN_SECONDS, member);
      }
    } catch (error) {
      this.onFailure(error);
    } finally {
      this.#isRunning = false;
    }
  }

  async #fateOf({ wallet, spending }: Due): Promise<Fate> {
    const chain = this.chains.served(spending.chainId);
    if (chain === undefined || spending.method === 'transaction') return { kind: 'open' };
    const { method, asset, nonce, payTo, amount } = spending;
    const ref = { method, asset, payer: wallet, nonce, payTo, amount };
    try {
      return await chain.withView(async (view) => {
        const final = await readFinal(view);
        const isUsed = await isAuthorizationUsed(view, ref, { blockHash: final.hash });
        if (isUsed === undefined) return { kind: 'open' };
        if (isUsed) return { kind: 'spent' };
        return final.timestamp > spending.deadline
          ? { kind: 'unspent', block: final.number }
          : { kind: 'open' };
      });
    } catch (error) {
      if (error instanceof ChainUnavailableError) return { kind: 'open' };
      throw error;
    }
  }
}

async function readFinal(
  view: ChainView,
): Promise<{ readonly hash: `0x${string}`; readonly number: bigint; readonly timestamp: number }> {
  const header = readBlockHeader(await view.read('eth_getBlockByNumber', ['finalized', false]));
  if (header === undefined) throw new ChainUnavailableError(view.chainId, 'finalized block');
  return header;
}
