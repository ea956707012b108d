import { readQuantity } from '../chain/block.js';
import type { ChainView } from '../chain/chain-view.js';
import type { EvmChain } from '../chain/evm-chain.js';
import type { Head, HeadWatcher } from '../chain/head-watcher.js';
import { Signal } from '../concurrency/signal.js';
import { delay } from '../concurrency/timing.js';
import { ChainUnavailableError, LeaseLostError, LedgerUnavailableError } from '../core/errors.js';
import { type Fees, feesFor } from '../core/settlement/gas-price.js';
import type { BatchRules } from '../core/settlement/grouping.js';
import type { LaneStatus, LaneTrouble } from '../core/settlement/lane-status.js';
import { LaneWindow } from '../core/settlement/lane-window.js';
import type { HeldLane, LaneLedger, TakenSettlement } from '../ledger/lane-ledger.js';
import { AttemptSender, type Sent } from './attempt-sender.js';
import { AttemptWatcher } from './attempt-watcher.js';
import type { BatchSuspension } from './batch-suspension.js';
import { FailureJudge } from './failure-judge.js';
import type { FeeOracle } from './fee-oracle.js';
import type { GasBook } from './gas-book.js';
import { InclusionReader } from './inclusion-reader.js';
import type { LaneObserver } from './lane-observer.js';
import { LanePace } from './lane-pace.js';
import { LanePurse } from './lane-purse.js';
import type { LaneSigner } from './lane-signer.js';
import { type Rechecked, Rechecker, type SendGroup } from './rechecker.js';
import { TrackedAttempt } from './tracked-attempt.js';
import { UsedSuspects } from './used-suspects.js';

export interface LaneRunnerOptions {
  readonly process: string;
  readonly maxGas: bigint;
  readonly windowMax: number;
  readonly headMaxAgeMs: number;
  readonly batchRules: BatchRules;
}

export interface LaneRunnerParts {
  readonly chain: EvmChain;
  readonly heads: HeadWatcher;
  readonly ledger: LaneLedger;
  readonly signer: LaneSigner;
  readonly fees: FeeOracle;
  readonly gasBook: GasBook;
  readonly suspension: BatchSuspension;
  readonly observer: LaneObserver;
  /** Told which settlements this lane has finished. */
  readonly onFinished: (ids: readonly string[]) => void;
  /** What the lane says of itself has changed in a way that others should hear of now. */
  readonly onChanged: () => void;
}

/** How long a lane rests after something it needs did not answer. */
const REST_MS = 500;
/** Nothing is left to chance: without any news a lane looks for work this often. */
const LOOK_FOR_WORK_MS = 1000;

/** After a look that did not settle what it saw: a second endpoint needs a moment for a new block. */
const LOOK_AGAIN_MS = 50;

/** The ledger and this process may disagree about the lane: it has to be opened again. */
class ReopenLane extends Error {}

/**
 * One lane, worked on by the process that holds its lease: takes ready settlements, sends them with
 * consecutive account nonces, and follows every transaction to its end.
 */
export class LaneRunner {
  readonly #work = new Signal();
  readonly #news = new Signal();
  readonly #attempts = new Map<number, TrackedAttempt>();
  readonly #rechecker: Rechecker;
  readonly #sender: AttemptSender;
  readonly #watcher: AttemptWatcher;
  readonly #purse: LanePurse;
  readonly #suspects: UsedSuspects;
  readonly #pace = new LanePace();
  #window: LaneWindow;
  #next = 0;
  #fees: Fees | undefined;
  #trouble: LaneTrouble | undefined = 'resyncing';
  #restsUntil = 0;
  #isRunning = false;
  #isPaused = false;

  constructor(
    readonly lane: string,
    private readonly parts: LaneRunnerParts,
    private readonly options: LaneRunnerOptions,
  ) {
    const { chain, ledger, signer, fees, gasBook, observer, suspension } = parts;
    this.#rechecker = new Rechecker(chain, signer.address, gasBook, options.maxGas);
    this.#sender = new AttemptSender(chain, ledger, signer, fees, observer);
    this.#purse = new LanePurse(chain, signer.address);
    this.#window = new LaneWindow(options.windowMax, false);
    const judge = new FailureJudge(chain, ledger, options.maxGas);
    this.#suspects = new UsedSuspects(ledger, judge, parts.onFinished);
    this.#watcher = new AttemptWatcher(lane, {
      chain,
      ledger,
      gasBook,
      observer,
      suspension,
      sender: this.#sender,
      reader: new InclusionReader(chain, signer.address),
      judge,
      pace: this.#pace,
      signer: signer.address,
      onFinished: parts.onFinished,
      onRoom: (included) => {
        this.#window.grow(included);
        this.#work.notify();
      },
      onStall: () => {
        this.#window.shrink();
      },
    });
  }

  /** Something became ready on this lane's chain. */
  notifyWork(): void {
    this.#work.notify();
  }

  /** Whether a block is awaited for something in flight. */
  get isWaitingForBlocks(): boolean {
    return this.#isRunning && (this.#attempts.size > 0 || this.#suspects.size > 0);
  }

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    this.#work.notify();
  }

  /** Stops taking work; what is in flight is left to the next writer of the lane. */
  stop(): void {
    this.#isRunning = false;
    this.#work.notify();
    this.#news.notify();
  }

  /**
   * Works until stopped.
   *
   * @throws LeaseLostError when the lane is another process's.
   */
  async run(held: HeldLane): Promise<void> {
    this.#isRunning = true;
    const stopListening = this.parts.heads.onHead(() => {
      this.#news.notify();
    });
    try {
      do await this.#workUntilTrouble(held);
      while (this.#isGoing());
    } finally {
      this.#isRunning = false;
      stopListening();
    }
  }

  #isGoing(): boolean {
    return this.#isRunning;
  }

  async #workUntilTrouble(held: HeldLane): Promise<void> {
    try {
      await this.#open(held);
      await this.#runLoops(held);
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      if (!isPassing(error)) this.parts.observer.failed(this.lane, 'run', error);
      await delay(REST_MS);
    }
  }

  /** Both loops, until one of them cannot go on and the other has come to a stop too. */
  async #runLoops(held: HeldLane): Promise<void> {
    const failures: unknown[] = [];
    const isGoing = (): boolean => this.#isRunning && failures.length === 0;
    const loops = [this.#takeLoop(held, isGoing), this.#watchLoop(held, isGoing)];
    await Promise.all(
      loops.map((loop) =>
        loop.catch((error: unknown) => {
          failures.push(error);
          this.#work.notify();
          this.#news.notify();
        }),
      ),
    );
    if (failures.length > 0) throw failures[0];
  }

  // ---------------------------------------------------------------- opening

  /** Learns from the ledger and the chain where the lane stands, before anything is allocated. */
  async #open(held: HeldLane): Promise<void> {
    this.#setTrouble('resyncing');
    const head = await this.#firstHead();
    const opened = await this.parts.ledger.open(held);
    const ids = opened.attempts.flatMap(({ settlementIds }) => settlementIds);
    const payments = await this.parts.ledger.paymentsOf(ids);
    this.#attempts.clear();
    this.#suspects.clear();
    for (const attempt of opened.attempts) {
      const own = attempt.settlementIds.flatMap((id) => {
        const payment = payments.get(id);
        return payment === undefined ? [] : ([[id, payment]] as const);
      });
      const tracked = new TrackedAttempt(attempt, new Map(own), head.latest.number);
      this.#attempts.set(attempt.accountNonce, tracked);
    }
    const hasCode = await this.parts.chain.withView((view) =>
      view.hasCode(this.parts.signer.address),
    );
    this.#window = new LaneWindow(this.options.windowMax, hasCode);
    this.#next = await this.#syncNext(held, opened.next);
    await this.#fillGaps(held, head);
    for (const tracked of this.#attempts.values()) void this.#sender.broadcast(tracked);
    this.parts.observer.opened(this.lane, {
      nextNonce: this.#next,
      inFlight: this.#attempts.size,
    });
    this.#setTrouble(undefined);
    this.#restsUntil = 0;
    this.#work.notify();
    this.#news.notify();
  }

  async #firstHead(): Promise<Head> {
    for (;;) {
      const head = this.parts.heads.current;
      if (head !== undefined) return head;
      if (!this.#isRunning) throw new ReopenLane();
      await this.#news.wait(REST_MS);
    }
  }

  /**
   * The next account nonce. Where the ledger does not know it, or the chain is already past it, the
   * chain decides, once what is in the pools has come through. What stays there for long is not
   * waited for: the lane fills from the first free nonce up.
   */
  async #syncNext(held: HeldLane, known: number | undefined): Promise<number> {
    const deadline = Date.now() + POOL_PATIENCE_MS;
    for (;;) {
      const { latest, pending } = await this.#countNonces();
      if (known !== undefined && latest <= known) return known;
      if (known !== undefined) this.parts.observer.nonceUsedByOther(this.lane, known);
      if (latest === pending || Date.now() > deadline) {
        if (await this.parts.ledger.setNext(held, known, latest)) return latest;
        throw new ReopenLane();
      }
      if (!this.#isRunning) throw new ReopenLane();
      await delay(REST_MS);
    }
  }

  /** The most any endpoint counts: a node that lags must not make a nonce look free. */
  async #countNonces(): Promise<{ readonly latest: number; readonly pending: number }> {
    const counts = { latest: -1, pending: -1 };
    for (const view of this.parts.chain.views()) {
      try {
        const [latest, pending] = await Promise.all([
          this.#countNonce(view, 'latest'),
          this.#countNonce(view, 'pending'),
        ]);
        counts.latest = Math.max(counts.latest, latest);
        counts.pending = Math.max(counts.pending, pending);
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
    }
    if (counts.latest < 0) {
      throw new ChainUnavailableError(this.parts.chain.chainId, 'eth_getTransactionCount');
    }
    return counts;
  }

  async #countNonce(view: ChainView, tag: 'latest' | 'pending'): Promise<number> {
    const count = await view.read('eth_getTransactionCount', [this.parts.signer.address, tag]);
    return Number(readQuantity(count) ?? -1n);
  }

  async #fillGaps(held: HeldLane, head: Head): Promise<void> {
    const { latest } = await this.#countNonces();
    for (let nonce = latest; nonce < this.#next; nonce += 1) {
      if (this.#attempts.has(nonce)) continue;
      const filler = await this.#sender.fillGap(held, nonce, head);
      if (filler !== undefined) this.#attempts.set(nonce, filler);
    }
  }

  // ---------------------------------------------------------------- sending

  async #takeLoop(held: HeldLane, isGoing: () => boolean): Promise<void> {
    while (isGoing()) {
      await this.#work.wait(LOOK_FOR_WORK_MS);
      while (isGoing() && (await this.#mayTake())) {
        const taken = await this.parts.ledger.take(held, this.options.batchRules.maxItems);
        if (taken.length === 0) break;
        await this.#sendAll(held, taken);
      }
    }
  }

  async #mayTake(): Promise<boolean> {
    if (this.#isPaused || performance.now() < this.#restsUntil) return false;
    if (this.#inFlightCount() >= this.#window.size) return false;
    const head = this.parts.heads.current;
    if (head === undefined) return false;
    try {
      await this.#purse.refresh();
      this.#fees = feesFor(await this.parts.fees.market(head));
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      return this.#rest('chain_unavailable');
    }
    if (this.#fees === undefined) return this.#rest('gas_price_cap');
    if (this.#isStale(head)) return this.#rest('head_stale');
    if (this.#settlementsLeft() < 1) return this.#rest('no_gas');
    this.#setTrouble(undefined);
    return true;
  }

  #rest(trouble: LaneTrouble): false {
    this.#setTrouble(trouble);
    this.#restsUntil = performance.now() + REST_MS;
    return false;
  }

  #isStale({ latest }: Head): boolean {
    const { headMaxAgeMs } = this.options;
    return headMaxAgeMs > 0 && Date.now() - latest.timestamp * 1000 > headMaxAgeMs;
  }

  #setTrouble(trouble: LaneTrouble | undefined): void {
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.parts.onChanged();
  }

  /** Attempts that no block has taken yet. */
  #inFlightCount(): number {
    let count = 0;
    for (const { inclusion } of this.#attempts.values()) if (inclusion === undefined) count += 1;
    return count;
  }

  async #sendAll(held: HeldLane, taken: readonly TakenSettlement[]): Promise<void> {
    let rechecked: Rechecked<TakenSettlement>;
    try {
      rechecked = await this.#rechecker.recheck(taken, this.#rules());
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      await this.#giveBack(held, taken);
      this.#rest('chain_unavailable');
      return;
    }
    const { groups, blockNumber } = rechecked;
    const refusals = rechecked.refusals.filter(({ id, reason }) => {
      const item = taken.find((one) => one.id === id);
      return item === undefined || !this.#suspects.holds(item, reason, blockNumber);
    });
    if (refusals.length > 0) {
      await this.parts.ledger.refuse(held, refusals);
      this.parts.onFinished(refusals.map(({ id }) => id));
    }
    let canSend = true;
    for (const group of groups) {
      if (!canSend || this.#inFlightCount() >= this.#window.size || !this.#isRunning) {
        await this.#giveBack(held, group.items);
      } else {
        canSend = await this.#sendOne(held, group, blockNumber);
      }
    }
  }

  /** @returns whether the lane can go on sending now. */
  async #sendOne(
    held: HeldLane,
    group: SendGroup<TakenSettlement>,
    blockNumber: bigint,
  ): Promise<boolean> {
    const head = this.parts.heads.current;
    if (head === undefined) throw new ReopenLane();
    const sent: Sent = await this.#sender.send(held, this.#next, group, head, blockNumber);
    switch (sent.kind) {
      case 'sent':
        this.#attempts.set(this.#next, sent.tracked);
        this.#next += 1;
        // A chain that mines on demand has mined it by now.
        if (this.options.headMaxAgeMs === 0) this.parts.heads.look();
        else this.parts.heads.lookIfIdle();
        return true;
      case 'nonce':
        throw new ReopenLane();
      case 'paused':
        await this.#giveBack(held, group.items);
        return this.#rest('paused');
      case 'gone': {
        const gone = new Set(sent.ids);
        await this.#giveBack(
          held,
          group.items.filter(({ id }) => !gone.has(id)),
        );
        this.#work.notify();
        return true;
      }
      case 'price_cap':
        await this.#giveBack(held, group.items);
        return this.#rest('gas_price_cap');
      case 'budget':
        return this.#overBudget(held, group, sent.subject);
    }
  }

  async #overBudget(
    held: HeldLane,
    group: SendGroup<TakenSettlement>,
    subject: string,
  ): Promise<boolean> {
    if (subject === 'lane') {
      await this.#giveBack(held, group.items);
      return this.#rest('budget_exhausted');
    }
    const refused = group.items.filter(({ payment }) => payment.payTo === subject);
    await this.parts.ledger.refuse(
      held,
      refused.map(({ id }) => ({ id, reason: 'budget_exhausted' })),
    );
    this.parts.onFinished(refused.map(({ id }) => id));
    await this.#giveBack(
      held,
      group.items.filter((item) => !refused.includes(item)),
    );
    return true;
  }

  async #giveBack(held: HeldLane, items: readonly TakenSettlement[]): Promise<void> {
    if (items.length === 0) return;
    await this.parts.ledger.giveBack(
      held,
      items.map(({ id }) => id),
    );
  }

  #rules(): BatchRules {
    const { batchRules } = this.options;
    const canBatch = this.parts.chain.hasContract('multicall3') === true;
    const safeAssets = [...batchRules.safeAssets].filter(
      (asset) => !this.parts.suspension.isSuspended(asset),
    );
    return {
      ...batchRules,
      maxItems: canBatch ? batchRules.maxItems : 1,
      safeAssets: new Set(safeAssets),
    };
  }

  // ---------------------------------------------------------------- following

  async #watchLoop(held: HeldLane, isGoing: () => boolean): Promise<void> {
    while (isGoing()) {
      await this.#news.wait(LOOK_FOR_WORK_MS);
      const head = this.parts.heads.current;
      if (head === undefined || !this.isWaitingForBlocks) continue;
      try {
        await this.#suspects.follow(held, head);
        const { usedNonces, isConclusive } = await this.#watcher.follow(held, this.#attempts, head);
        if (usedNonces > this.#next) throw new ReopenLane();
        if (!isConclusive) await this.#lookAgainSoon();
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
        await this.#lookAgainSoon();
      }
    }
  }

  async #lookAgainSoon(): Promise<void> {
    await delay(LOOK_AGAIN_MS);
    this.#news.notify();
  }

  // ---------------------------------------------------------------- status

  status(): LaneStatus {
    const { signer, chain } = this.parts;
    const attempts = [...this.#attempts.values()];
    const oldest = attempts.find(({ inclusion }) => inclusion === undefined);
    return {
      lane: this.lane,
      chainId: chain.chainId,
      signer: signer.address,
      process: this.options.process,
      trouble: this.#isPaused ? 'paused' : this.#trouble,
      balanceWei: this.#purse.balanceWei.toString(),
      settlementsLeft: this.#settlementsLeft(),
      inFlight: this.#inFlightCount(),
      window: this.#window.size,
      gaps: attempts[0] === undefined ? 0 : this.#next - attempts[0].accountNonce - attempts.length,
      nextNonce: this.#next,
      oldestNonce: attempts[0]?.accountNonce ?? this.#next,
      oldestInFlightMs: oldest === undefined ? 0 : Date.now() - oldest.sentAt,
      inclusionMs: this.#pace.inclusionMs,
      perSecond: this.#pace.perSecond(this.#window.size, this.options.batchRules.maxItems),
    };
  }

  /** Refreshes what the status says while there is no work. */
  async refresh(): Promise<void> {
    this.#work.notify();
    await this.#purse.refresh();
  }

  #settlementsLeft(): number {
    const price = this.#fees?.maxFeePerGas ?? 1_000_000_000n;
    const inFlight = [...this.#attempts.values()].filter(({ inclusion }) => !inclusion);
    return this.#purse.settlementsLeft(inFlight, this.parts.gasBook.typical * price);
  }
}

/** How long transactions that the ledger does not know may hold a lane up. */
const POOL_PATIENCE_MS = 10_000;

function isPassing(error: unknown): boolean {
  return (
    error instanceof ReopenLane ||
    error instanceof ChainUnavailableError ||
    error instanceof LedgerUnavailableError
  );
}
