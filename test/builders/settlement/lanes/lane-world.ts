import type { Address, Hex } from 'viem';
import type { BlockHeader } from '../../../../src/platform/chain/block.js';
import type { Head } from '../../../../src/platform/chain/head-watcher.js';
import type { KnownHeads } from '../../../../src/platform/chain/heads.js';
import type { SendResult } from '../../../../src/platform/chain/rpc/rpc-classes.js';
import { ChainUnavailableError } from '../../../../src/protocol/errors.js';
import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';
import type { Reason } from '../../../../src/protocol/reasons.js';
import { Confirmer } from '../../../../src/settlement/lanes/following/confirmer.js';
import { InclusionRate } from '../../../../src/settlement/lanes/following/inclusion-rate.js';
import { LaneFollowing } from '../../../../src/settlement/lanes/following/lane-following.js';
import { Outcomes } from '../../../../src/settlement/lanes/following/outcomes.js';
import { UnresolvedUses } from '../../../../src/settlement/lanes/following/unresolved-uses.js';
import type { LaneObserver } from '../../../../src/settlement/lanes/lane-observer.js';
import type {
  Block,
  BlockState,
  FeeMarkets,
  InclusionLook,
  LaneHeads,
  OutcomeVerdict,
  PreparationReader,
  Replaced,
  SeenInclusion,
  Sending,
  TransactionOrder,
  TransactionSigner,
} from '../../../../src/settlement/lanes/ports.js';
import { Preparations } from '../../../../src/settlement/lanes/preparing/preparations.js';
import { LaneRecovery } from '../../../../src/settlement/lanes/recovery/lane-recovery.js';
import {
  type AccountLook,
  RefillSending,
  type Treasury,
} from '../../../../src/settlement/lanes/refilling/refill-sending.js';
import { RefillSigner } from '../../../../src/settlement/lanes/refilling/refill-signer.js';
import { Broadcaster } from '../../../../src/settlement/lanes/sending/broadcaster.js';
import { ChannelsInFlight } from '../../../../src/settlement/lanes/sending/channels-in-flight.js';
import { GasBalance } from '../../../../src/settlement/lanes/sending/gas-balance.js';
import { LaneReadiness } from '../../../../src/settlement/lanes/sending/lane-readiness.js';
import { LaneSending } from '../../../../src/settlement/lanes/sending/lane-sending.js';
import type { SendGroup } from '../../../../src/settlement/lanes/sending/preflight-result.js';
import { LaneState } from '../../../../src/settlement/lanes/state/lane-state.js';
import type {
  Inclusion,
  TrackedAttempt,
} from '../../../../src/settlement/lanes/state/tracked-attempt.js';
import type { HeldLane, TakenSettlement } from '../../../../src/settlement/ledger/lane-store.js';
import type { SignedTransaction } from '../../../../src/settlement/model/attempt.js';
import type { FeeMarket } from '../../../../src/settlement/model/gas-price.js';
import type { BatchRules } from '../../../../src/settlement/model/grouping.js';
import { MemoryLaneStore } from '../../../twins/settlement/ledger/memory-lane-store.js';
import { TestClock } from '../../platform/concurrency/clock.js';
import {
  anAcceptedPayment,
  anEip3009Authorization,
} from '../../protocol/payment/accepted-payment.js';

export const CHAIN_ID = 56;
export const SIGNER: Address = `0x${'aa'.repeat(20)}`;
export const LANE = `${CHAIN_ID}:${SIGNER}`;
export const GWEI = 1_000_000_000n;
const LEASE_MS = 600_000;

/** A payment that nothing else has the nonce of. */
export function aPayment(
  n: number | bigint,
  overrides: Partial<AcceptedPayment> = {},
): AcceptedPayment {
  const nonce: Hex = `0x${n.toString(16).padStart(64, '0')}`;
  return anAcceptedPayment({ authorization: anEip3009Authorization({ nonce }), ...overrides });
}

const hashOf = (n: number, fork: string): Hex => `0x${fork}${n.toString(16).padStart(62, '0')}`;

interface TestPreflight {
  readonly refusals?: readonly { readonly id: string; readonly reason: Reason }[];
  readonly undecided?: readonly string[];
}

/** Payers on a chain, as far as their own transactions go. */
class TestPayers implements PreparationReader {
  look: PreparationReader['look'] = () =>
    Promise.resolve({ isDone: false, usedNonces: 3, balanceWei: 0n });
}

/** A chain that does what a test says: mines what was sent, replaces blocks, lies, hangs. */
export class TestChain {
  readonly chainId = CHAIN_ID;
  latest = 100n;
  /** Blocks by which the second endpoint is behind. */
  behind = 0n;
  finalized = 90n;
  fork = '00';
  /** Extra transactions that endpoints count; one entry an endpoint. */
  lies: number[] = [0];
  confirms = true;
  /** Whether blocks that may be final are part of the chain; the truth where a test does not say. */
  standing: BlockState | 'hangs' | undefined;
  /** What the first endpoint alone shows: no second one has said so. */
  hidesReplacements = false;
  /** How often the newest block was looked at. */
  looks = 0;
  sendResults: readonly SendResult[] = [{ kind: 'accepted' }];
  readonly sent: Hex[] = [];
  /** Wei; an account that is not named has a coin. */
  readonly balances = new Map<Address, bigint>();
  /** Used nonces, final ones of them, and where transactions are mined, by hash. */
  used = 0;
  finalUsed = 0;
  /** Of a node that is behind. */
  usedNoncesSeen: number | undefined;
  readonly #mined = new Map<Hex, Inclusion>();
  readonly #blocks = new Map<bigint, Hex>();
  timestamp = 1_700_000_000;
  verdicts = new Map<string, OutcomeVerdict | 'hangs' | 'fails'>();
  asked: string[] = [];
  market: FeeMarket = {
    baseFeePerGas: 0n,
    suggestedTip: GWEI,
    leastTip: 0n,
    cap: 10n * GWEI,
  };
  /** What differs where it is urgent. */
  urgent: Partial<FeeMarket> = {};
  /** What one endpoint alone says of that. */
  urgentAlone: Partial<FeeMarket> = {};
  readonly fees: FeeMarkets = {
    market: () => Promise.resolve(this.market),
    urgentMarket: () =>
      Promise.resolve({
        agreed: { ...this.market, ...this.urgent },
        highest: { ...this.market, ...this.urgent, ...this.urgentAlone },
      }),
    noteMined: (tip) => {
      this.minedTips.push(tip);
    },
  };
  readonly minedTips: bigint[] = [];
  preflight: (ids: readonly string[]) => TestPreflight | 'hangs' | 'fails' | Promise<never> =
    () => ({});
  gas = 100_000n;
  /** How what passes is divided into transactions; all of it into one where a test does not say. */
  grouping: (
    ready: readonly TakenSettlement[],
    rules: BatchRules,
  ) => readonly SendGroup<TakenSettlement>[] = (items) =>
    items.length === 0 ? [] : [{ items, gas: this.gas }];
  readonly payers = new TestPayers();

  // ---------------------------------------------------------------- what a test does

  get head(): Head {
    const block = (number: bigint): BlockHeader => ({
      number,
      hash: this.blockHash(number),
      timestamp: this.timestamp,
      baseFeePerGas: 0n,
      gasLimit: 30_000_000n,
    });
    return { latest: block(this.latest), finalized: block(this.finalized), view: {} as never };
  }

  blockHash(number: bigint): Hex {
    const hash = this.#blocks.get(number) ?? hashOf(Number(number), this.fork);
    this.#blocks.set(number, hash);
    return hash;
  }

  /** A new block, with a transaction of the lane that pays these. */
  mine(
    transaction?: SignedTransaction,
    { pays = [] as readonly string[], isSuccess = true } = {},
  ): void {
    this.latest += 1n;
    if (transaction === undefined) return;
    const credited = new Map(pays.map((id, index) => [id, index]));
    this.#mined.set(transaction.hash, {
      transaction: transaction.hash,
      blockNumber: this.latest,
      isSuccess,
      credited,
      blockHash: this.blockHash(this.latest),
      gasUsed: 50_000n,
      effectiveGasPrice: GWEI,
    });
    this.used += 1;
  }

  finalize(): void {
    this.latest += 1n;
    this.finalized = this.latest;
    this.finalUsed = this.used;
  }

  /** Blocks from this one on are replaced by empty ones. */
  replaceFrom(number: bigint): void {
    this.fork = `${Number(this.fork) + 11}`;
    for (const [hash, { blockNumber }] of this.#mined) {
      if (blockNumber < number) continue;
      this.#mined.delete(hash);
      this.used -= 1;
    }
    for (const block of [...this.#blocks.keys()]) if (block >= number) this.#blocks.delete(block);
    this.latest += 1n;
  }

  // ---------------------------------------------------------------- LaneChain

  /** What other endpoints say of the newest block. */
  elsewhere: readonly BlockHeader[] = [];

  newestElsewhere(): Promise<readonly BlockHeader[]> {
    return Promise.resolve(this.elsewhere);
  }

  get knownHeads(): KnownHeads {
    const newest = { number: this.latest, hash: this.blockHash(this.latest) };
    return { agreed: this.latest - this.behind, newest };
  }

  /** The answer that all endpoints agree about; throws while they differ. */
  #agreed(count: number): Promise<number> {
    const [lie = 0, ...others] = this.lies;
    return others.every((other) => other === lie)
      ? Promise.resolve(count + lie)
      : Promise.reject(new ChainUnavailableError(CHAIN_ID, 'a count'));
  }

  async transactionCount(): Promise<{ readonly latest: number; readonly pending: number }> {
    const count = await this.#agreed(this.used);
    return { latest: count, pending: count };
  }

  finalNonces(): Promise<number> {
    return this.#agreed(this.finalUsed);
  }

  /** Accounts with code. */
  readonly contracts = new Set<Address>();

  hasCode(address: Address): Promise<boolean> {
    return Promise.resolve(this.contracts.has(address));
  }

  balance(address: Address): Promise<bigint> {
    return Promise.resolve(this.balances.get(address) ?? 10n ** 18n);
  }

  balanceByAll(address: Address): Promise<bigint> {
    return this.balance(address);
  }

  broadcast(
    raw: Hex,
    onResult: (result: SendResult) => void = () => undefined,
  ): Promise<readonly SendResult[]> {
    this.sent.push(raw);
    for (const result of this.sendResults) onResult(result);
    return Promise.resolve(this.sendResults);
  }

  hasContract(): boolean {
    return true;
  }

  // ---------------------------------------------------------------- ReceiptReader

  look(_: unknown, attempts: readonly TrackedAttempt[]): Promise<InclusionLook> {
    this.looks += 1;
    const included = attempts.flatMap((tracked) => {
      const inclusion = this.#inclusionOf(tracked);
      return inclusion === undefined ? [] : [[tracked, inclusion] as const];
    });
    return Promise.resolve({
      usedNonces: this.used + (this.lies[0] ?? 0),
      included: new Map(included),
    });
  }

  lookEverywhere(tracked: TrackedAttempt): Promise<SeenInclusion | undefined> {
    const inclusion = this.#inclusionOf(tracked);
    return Promise.resolve(inclusion && { view: {} as never, inclusion });
  }

  #inclusionOf({ attempt }: TrackedAttempt): Inclusion | undefined {
    return attempt.transactions.map(({ hash }) => this.#mined.get(hash)).find(Boolean);
  }

  replacedBlocks(_: unknown, blocks: readonly Block[]): Promise<Replaced> {
    const changed = blocks.filter((block) => this.#isReplaced(block)).map(({ hash }) => hash);
    const [gone, doubtful] = this.hidesReplacements ? [[], changed] : [changed, []];
    return Promise.resolve({ gone: new Set(gone), doubtful: new Set(doubtful) });
  }

  #isReplaced({ number, hash }: Block): boolean {
    return number <= this.latest && this.blockHash(number) !== hash;
  }

  standingOf(block: Block): Promise<BlockState> {
    if (this.standing === 'hangs') return new Promise(() => undefined);
    return Promise.resolve(this.standing ?? (this.#isReplaced(block) ? 'replaced' : 'there'));
  }

  confirm(_: unknown, __: unknown, inclusion: Inclusion): Promise<Inclusion | undefined> {
    return Promise.resolve(this.confirms ? inclusion : undefined);
  }

  // ---------------------------------------------------------------- OutcomeResolver

  resolve(id: string): Promise<OutcomeVerdict> {
    this.asked.push(id);
    const verdict = this.verdicts.get(id) ?? { kind: 'requeue' };
    if (verdict === 'hangs') return new Promise(() => undefined);
    if (verdict === 'fails') {
      return Promise.reject(new ChainUnavailableError(CHAIN_ID, 'search of logs'));
    }
    return Promise.resolve(verdict);
  }

  resolveAgain(id: string): Promise<OutcomeVerdict> {
    return this.resolve(id);
  }
}

export class TestSigner implements TransactionSigner {
  readonly address = SIGNER;
  readonly noop = { to: SIGNER, data: '0x' } as const;
  isAvailable = true;
  /** What a signature takes; a test may let it hang. */
  beforeSigning: () => Promise<void> = () => Promise.resolve();
  #signed = 0;

  constructor(private readonly clock: TestClock) {}

  readonly values: bigint[] = [];

  async sign({
    call,
    accountNonce,
    gas,
    fees,
    isNoop,
    valueWei = 0n,
  }: TransactionOrder): Promise<SignedTransaction | undefined> {
    await this.beforeSigning();
    if (!this.isAvailable) return undefined;
    this.values.push(valueWei);
    this.#signed += 1;
    const hash = hashOf(this.#signed, 'ee');
    const raw: Hex = `0x${accountNonce.toString(16).padStart(4, '0')}${call.to.slice(2)}`;
    return { hash, raw, gas, isNoop, signedAt: this.clock.now(), ...fees };
  }
}

/** The calls of observers, as `name` or `name:detail`. */
export function recordingObserver(reported: string[]): LaneObserver {
  const note =
    (name: string) =>
    (...args: unknown[]): void => {
      const detail = args.find((one) => typeof one === 'number' || typeof one === 'boolean');
      reported.push(detail === undefined ? name : `${name}:${String(detail)}`);
    };
  return new Proxy({} as LaneObserver, { get: (_, name) => note(String(name)) });
}

export interface LaneWorldOptions {
  readonly budgets?: {
    readonly laneWei?: bigint;
    readonly payeeWei?: bigint;
    readonly fundingsWei?: bigint;
    readonly topUpWei?: bigint;
  };
  /** A process without the key. */
  readonly isFollowing?: boolean;
  readonly windowMax?: number;
  /** Assets whose payments may share a transaction. */
  readonly safeAssets?: ReadonlySet<string>;
  /** It refills lanes and settles nothing. */
  readonly treasury?: Pick<Treasury, 'rules' | 'levels'>;
}

/** One lane of one process, on a chain, a ledger and a clock of a test. */
export class LaneWorld {
  readonly signer: TestSigner;
  readonly reported: string[] = [];
  readonly finished: string[] = [];
  readonly state: LaneState;
  readonly recovery: LaneRecovery;
  readonly sending: Sending;
  readonly refills: RefillSending | undefined;
  readonly following: LaneFollowing;
  held: HeldLane | undefined;

  constructor(
    readonly clock: TestClock,
    readonly chain: TestChain,
    readonly store: MemoryLaneStore,
    options: LaneWorldOptions = {},
  ) {
    const { budgets, isFollowing = false, windowMax = 64, treasury: refilling } = options;
    const observer = recordingObserver(this.reported);
    this.signer = new TestSigner(clock);
    const look = async (address: Address): Promise<AccountLook> => ({
      balanceWei: await chain.balance(address),
      usedNonces: chain.usedNoncesSeen ?? chain.used,
    });
    const treasury = refilling && { ...refilling, store: store.refills, look };
    const key = treasury ? new RefillSigner(this.signer, treasury.rules) : this.signer;
    const signer = isFollowing ? undefined : key;
    const events = {
      finished: (ids: readonly string[]): void => {
        this.finished.push(...ids);
      },
      conditionChanged: (): void => undefined,
    };
    const state = new LaneState(windowMax, () => undefined, clock);
    const { fees } = chain;
    const gasEstimates = { typical: 100_000n, raise: () => undefined };
    const suspensions = { noteRevert: () => undefined, isSuspended: () => false };
    const assetSuspensions = {
      suspended: [],
      noteWithoutEvidence: (asset: string): void => {
        this.reported.push(`without evidence:${asset}`);
      },
    };
    const { leases, queue, attempts, endings } = store;
    const shared = {
      chain,
      leases,
      queue,
      attempts,
      endings,
      state,
      events,
      observer,
      clock,
      fees,
      gasEstimates,
      suspensions,
      assetSuspensions,
    };
    const broadcaster = new Broadcaster({
      ...shared,
      signer,
      budgets: { laneWei: treasury?.rules.dailyCapWei, payeeWei: undefined, ...budgets },
      refillable: treasury?.rules.lanes,
    });
    const unresolved = new UnresolvedUses();
    const own = { ...shared, signer: SIGNER, broadcaster, unresolved, reader: chain };
    const confirmer = new Confirmer({ ...own, rate: new InclusionRate(clock) });
    const outcomes = new Outcomes({ ...own, resolver: chain });
    this.state = state;
    this.recovery = new LaneRecovery(own);
    this.following = new LaneFollowing({ ...own, confirmer, outcomes });
    const heads: LaneHeads = {
      get current() {
        return chain.head;
      },
      onHead: () => () => undefined,
      look: () => undefined,
      lookIfIdle: () => undefined,
    };
    const gasBalance = new GasBalance(chain, SIGNER, clock);
    const readiness = new LaneReadiness({
      ...shared,
      address: SIGNER,
      signer,
      heads,
      gasBalance,
      headMaxAgeMs: 0,
    });
    const preparationReader = budgets?.fundingsWei === undefined ? undefined : chain.payers;
    const preparations = new Preparations({
      ...own,
      lane: LANE,
      budgets: { topUpWei: budgets?.topUpWei },
      heads,
      readiness,
      preparationReader,
    });
    this.refills =
      treasury && new RefillSending({ ...own, lane: LANE, treasury, heads, readiness, signer });
    this.sending =
      this.refills ??
      new LaneSending({
        ...own,
        heads,
        readiness,
        preparations,
        isRetiring: false,
        channels: new ChannelsInFlight(() => state.pending),
        simulator: {
          hasDecided: false,
          clear: () => undefined,
          preflight: async (ready, rules) => {
            const answer = await chain.preflight(ready.map(({ id }) => id));
            if (answer === 'fails')
              throw new ChainUnavailableError(CHAIN_ID, 'a pre-flight simulation');
            if (answer === 'hangs') return new Promise(() => undefined);
            const refusals = ready.flatMap((item) => {
              const reason = answer.refusals?.find(({ id }) => id === item.id)?.reason;
              return reason === undefined ? [] : [{ item, reason }];
            });
            const undecided = ready.filter(({ id }) => answer.undecided?.includes(id));
            const others = [...refusals.map(({ item }) => item), ...undecided];
            const items = ready.filter((item) => !others.includes(item));
            const groups = chain.grouping(items, rules);
            return [{ groups, refusals, undecided, blockNumber: chain.latest }];
          },
        },
        batchRules: {
          maxItems: 32,
          safeAssets: options.safeAssets ?? new Set(),
          optOut: new Set(),
        },
        headMaxAgeMs: 0,
      });
  }

  /** Another process, on the same chain and ledger, after the lease of this one has run out. */
  async successor(options: LaneWorldOptions = {}): Promise<LaneWorld> {
    await this.clock.pass(LEASE_MS + 1);
    const next = new LaneWorld(this.clock, this.chain, this.store, options);
    await next.open('p2');
    return next;
  }

  async open(processId = 'p1'): Promise<void> {
    this.held = await this.store.leases.acquire(LANE, CHAIN_ID, processId, LEASE_MS);
    this.sending.reset();
    this.following.reset();
    await this.recovery.open(this.lease, this.chain.head, () => true);
  }

  get lease(): HeldLane {
    if (this.held === undefined) throw new Error('the lane is not held');
    return this.held;
  }

  /** Claims, and makes ready, settlements of these names. */
  async claim(...ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const n = BigInt(`0x${Buffer.from(id).toString('hex')}`);
      this.store.claims.claim(id, aPayment(n));
    }
    await this.store.queue.ready(CHAIN_ID, ids);
  }

  async send(...ids: readonly string[]): Promise<void> {
    await this.claim(...ids);
    await this.sending.sendReady(this.lease, () => true);
    await this.clock.pass(0);
  }

  /** As many looks at the newest head as it takes for what is beside the lane to come in. */
  async follow(looks = 3): Promise<void> {
    for (let look = 0; look < looks; look += 1) {
      await this.following.follow(this.lease, this.chain.head);
      await this.clock.pass(0);
    }
  }

  newest(accountNonce: number): SignedTransaction {
    const transaction = this.state.get(accountNonce)?.attempt.transactions.at(-1);
    if (transaction === undefined) throw new Error(`nothing is tracked at ${accountNonce}`);
    return transaction;
  }
}

export async function aLaneWorld(options: LaneWorldOptions = {}): Promise<LaneWorld> {
  const clock = new TestClock();
  const world = new LaneWorld(
    clock,
    new TestChain(),
    new MemoryLaneStore(() => clock.now()),
    options,
  );
  await world.open();
  return world;
}
