import { ChainUnavailableError, EndpointsDisagreeError } from '../../protocol/errors.js';
import type { BlockHeader } from './block.js';
import type { ChainView } from './chain-view.js';
import { LAG_MAX_BLOCKS } from './endpoint-health.js';
import type { EvmChain } from './evm-chain.js';

/** The newest block of a chain and the newest one that cannot be replaced any more. */
export interface Head {
  readonly latest: BlockHeader;
  readonly finalized: BlockHeader | undefined;
  /** The view that showed it, for reads that must be consistent with it. */
  readonly view: ChainView;
}

type HeadListener = (head: Head) => void;

/** Without a task that waits for a block, a rare look is enough. */
const IDLE_INTERVAL_MS = 2000;
/** Before the first interval is learned: the block time of BNB Chain. */
const FIRST_BLOCK_INTERVAL_MS = 450;
/** Looks begin this long before the next block is due, and are first repeated at this interval. */
const EARLY_MS = 25;
/** The part of a block interval after which to look for the next block when its time is unknown. */
const EARLY_PART = 0.1;
/** A look without a new block at most this part of an interval earlier shows when the block came. */
const PRECISE_PART = 0.25;
const LOOK_INTERVAL_LEAST_MS = 12;
const LOOK_INTERVAL_MOST_MS = 500;
/** A chain may mine late or on demand, so no look waits longer for a predicted block. */
const PREDICTION_MOST_MS = 500;
/** A final block is forgotten when it was not confirmed for this long. */
const FINALIZED_KEPT_MS = 8000;

/**
 * Watches for new blocks: with frequent looks around the time of the next one while a task waits for it, and rarely
 * otherwise.
 */
export class HeadWatcher {
  #head: Head | undefined;
  #intervalMs = FIRST_BLOCK_INTERVAL_MS;
  /** When the newest block came, by `performance.now`, as precisely as looks can show. */
  #bornAt = 0;
  /** Whether that is precise enough to predict the next block. */
  #isPhaseKnown = false;
  /** When the last look without a new block began. */
  #missedAt = Number.NEGATIVE_INFINITY;
  /** Whether finality was read for this head; otherwise it is read again. */
  #isFinalityRead = false;
  /** The last time a final block was confirmed. */
  #finalizedAt = Number.NEGATIVE_INFINITY;
  #isIdle = false;
  #isRunning = false;
  #wakeUp: (() => void) | undefined;
  #loop: Promise<void> | undefined;
  readonly #listeners = new Set<HeadListener>();

  /** @param isAwaited - whether a task needs the next block soon. */
  constructor(
    private readonly chain: EvmChain,
    private readonly isAwaited: () => boolean,
  ) {}

  get current(): Head | undefined {
    return this.#head;
  }

  /** Milliseconds between recent blocks. */
  get blockIntervalMs(): number {
    return this.#intervalMs;
  }

  onHead(listener: HeadListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    // A loop that was just told to stop continues; a new one replaces one that has ended.
    this.#loop = (this.#loop ?? Promise.resolve()).then(() => this.#run());
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#wakeUp?.();
    await this.#loop;
  }

  /** Looks now instead of at the next due time. */
  look(): void {
    this.#wakeUp?.();
  }

  /** A task began to wait for blocks, so the long idle pause ends. */
  lookIfIdle(): void {
    if (this.#isIdle) this.look();
  }

  async #run(): Promise<void> {
    while (this.#isRunning) {
      try {
        await this.chain.withView((view) => this.#look(view));
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
      await this.#sleep(this.#delayMs());
    }
  }

  async #look(view: ChainView): Promise<void> {
    const begunAt = performance.now();
    const latest = await view.latestBlock();
    await this.chain.confirmLeap(view, latest);
    const known = this.#head;
    if (known?.latest.hash === latest.hash) {
      this.#missedAt = begunAt;
      if (!this.#isFinalityRead) await this.#lookAtFinality(known.view, latest);
      return;
    }
    if (known !== undefined && isBehindAnother(known, latest, view)) return;
    this.#learnPhase(latest);
    // Tasks that wait for inclusion get the block before the finality of older blocks is read.
    this.#publish({ latest, finalized: this.#keptFinalized(latest), view });
    await this.#lookAtFinality(view, latest);
  }

  async #lookAtFinality(view: ChainView, latest: BlockHeader): Promise<void> {
    const finalized = await this.#finalized(view, latest);
    if (this.#head?.latest.hash !== latest.hash) return;
    if (finalized?.hash !== this.#head.finalized?.hash) this.#publish({ latest, finalized, view });
  }

  #publish(head: Head): void {
    this.#head = head;
    for (const listener of [...this.#listeners]) listener(head);
  }

  /** The last known final block, unless the chain is shorter now. */
  #keptFinalized({ number }: BlockHeader): BlockHeader | undefined {
    const finalized = this.#head?.finalized;
    const isFresh = performance.now() - this.#finalizedAt < FINALIZED_KEPT_MS;
    return isFresh && finalized !== undefined && finalized.number <= number ? finalized : undefined;
  }

  /** Read for each head: an earlier answer does not count for the present one. */
  async #finalized(view: ChainView, latest: BlockHeader): Promise<BlockHeader | undefined> {
    this.#isFinalityRead = false;
    try {
      const finalized = await this.chain.finalizedBlock(view, latest);
      this.#finalizedAt = performance.now();
      this.#isFinalityRead = true;
      return finalized;
    } catch (error) {
      if (error instanceof EndpointsDisagreeError) return undefined;
      if (!(error instanceof ChainUnavailableError)) throw error;
      return this.#keptFinalized(latest);
    }
  }

  /**
   * A block found by the first look of its turn may have come long before, and then all later ones would be found as
   * late. Only a look without a block shortly before shows when it came.
   */
  #learnPhase(latest: BlockHeader): void {
    const now = performance.now();
    const known = this.#head?.latest;
    const blocks = known === undefined ? 0 : Number(latest.number - known.number);
    const seenPerBlock = blocks > 0 ? (now - this.#bornAt) / blocks : this.#intervalMs;
    const isPrecise = now - this.#missedAt < seenPerBlock * PRECISE_PART;
    const bornAt = isPrecise ? (this.#missedAt + now) / 2 : now;
    if (blocks > 0 && isPrecise && this.#isPhaseKnown) {
      const perBlock = (bornAt - this.#bornAt) / blocks;
      const bounded = Math.min(Math.max(perBlock, 50), 15_000);
      this.#intervalMs = this.#intervalMs * 0.8 + bounded * 0.2;
    }
    this.#bornAt = bornAt;
    this.#isPhaseKnown = isPrecise;
  }

  #delayMs(): number {
    this.#isIdle = !this.isAwaited();
    if (this.#isIdle) return IDLE_INTERVAL_MS;
    const untilLooks = this.#isPhaseKnown
      ? this.#intervalMs - EARLY_MS
      : this.#intervalMs * EARLY_PART;
    const dueIn = this.#bornAt + untilLooks - performance.now();
    if (dueIn > 0) return Math.min(dueIn, PREDICTION_MOST_MS);
    // The longer a block is overdue, the less is lost by rare looks.
    const spacing = Math.max(this.#intervalMs / 30, -dueIn / 8);
    return Math.min(Math.max(spacing, LOOK_INTERVAL_LEAST_MS), LOOK_INTERVAL_MOST_MS);
  }

  #sleep(ms: number): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#wakeUp = undefined;
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wakeUp = wake;
    });
  }
}

/** A node behind another one's head has nothing new. The same node is believed: its chain was replaced. */
function isBehindAnother(known: Head, latest: BlockHeader, { health }: ChainView): boolean {
  const behind = known.latest.number - latest.number;
  return health !== known.view.health && behind > 0n && behind <= LAG_MAX_BLOCKS;
}
