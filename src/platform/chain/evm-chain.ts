import type { Address, Hex } from 'viem';
import { ChainUnavailableError, EndpointsDisagreeError } from '../../protocol/errors.js';
import {
  type ContractName,
  contractsOf,
  type SchemeContracts,
} from '../../protocol/evm/contracts.js';
import type { NetworkConfig } from '../config/app-config.js';
import type { Secret } from '../config/secret.js';
import { type BlockHeader, isSameBlock } from './block.js';
import type { ChainObserver } from './chain-observer.js';
import { ChainView } from './chain-view.js';
import {
  byPreference,
  type EndpointHealth,
  newEndpointHealth,
  noteLeastTip,
} from './endpoint-health.js';
import { EndpointProbe } from './endpoint-probe.js';
import { agreeOnFinalized } from './finality.js';
import { Heads, type KnownHeads } from './heads.js';
import { attempt, firstAnswer } from './hedge.js';
import {
  type EndpointSet,
  type Join,
  type NearHeadAnswer,
  type NeededHead,
  verifyNearHead,
} from './near-head.js';
import { eachAnswer, type Question, type QuorumContext, quorumRead } from './quorum.js';
import type { RpcCaller } from './rpc/rpc-caller.js';
import { readSendResult, type SendResult } from './rpc/rpc-classes.js';
import { RpcEndpoint } from './rpc/rpc-endpoint.js';
import type { RpcObserver } from './rpc/rpc-observer.js';
import { countAt, countTransactions, type TransactionCounts } from './transaction-counts.js';
import type { BlockRange } from './use-search/scan.js';
import { UseSearch } from './use-search/use-search.js';

/** Each endpoint is probed again this often: no mistake of a node lasts longer. */
const PROBE_INTERVAL_MS = 8000;
const SEND_TIMEOUT_MS = 5000;
/** Where any endpoint may say it, one that takes longer has not answered. */
const ANY_TIMEOUT_MS = 1000;
/** A look at all heads serves those who judge payments for this long. */
const HEADS_KEPT_MS = 150;
/** A disagreement is logged at most once in this time. */
const ALERT_INTERVAL_MS = 1000;

export interface EvmChainParts {
  readonly rpcObserver?: RpcObserver;
  readonly observer?: ChainObserver;
  /** Makes the connection to an endpoint; over HTTP when absent. */
  readonly connect?: (
    name: string,
    url: Secret<string>,
    onWrongChain: (servedChainId: bigint) => void,
  ) => RpcCaller;
}

/** One network, seen through all its endpoints. */
export class EvmChain {
  readonly chainId: number;
  readonly schemeContracts: SchemeContracts;
  readonly endpoints: readonly EndpointHealth[];
  /** Who used an authorization. */
  readonly uses: UseSearch;
  readonly #probe: EndpointProbe;
  readonly #heads: Heads;
  readonly #alertedAt = new Map<string, number>();
  #probeTimer: NodeJS.Timeout | undefined;

  constructor(
    readonly config: NetworkConfig,
    private readonly parts: EvmChainParts = {},
  ) {
    this.chainId = config.chainId;
    this.schemeContracts = config.schemeContracts;
    this.#probe = new EndpointProbe(config.chainId, config.schemeContracts, parts.observer);
    const connect =
      parts.connect ??
      ((name, url, onWrongChain) =>
        new RpcEndpoint(name, config.chainId, url, onWrongChain, parts.rpcObserver));
    this.endpoints = config.rpcUrls.map((url, index): EndpointHealth => {
      const onWrongChain = (servedChainId: bigint): void => {
        this.#probe.noteChain(health, servedChainId);
      };
      const endpoint = connect(`${config.chainId}-${index}`, url, onWrongChain);
      const health = newEndpointHealth(endpoint, (ability, isAnswered) => {
        const what = isAnswered ? 'answers_again' : 'cannot_answer';
        parts.observer?.endpointChanged({ endpoint: endpoint.name, what, ability });
      });
      return health;
    });
    const onDisagreement = this.noteDisagreement;
    this.#heads = new Heads(this.endpoints, () => this.views(), onDisagreement);
    this.uses = new UseSearch(this);
  }

  /** Tokens whose code the operator vouches for. */
  trust(tokens: readonly Address[]): void {
    const own = contractsOf(this.schemeContracts).map(([, address]) => address);
    for (const { contracts } of this.endpoints) contracts.conduct.trust([...own, ...tokens]);
  }

  /** Probes once, then all the time; a network lost at boot comes back by itself. */
  async start(): Promise<void> {
    await this.probe();
    this.#probeTimer = setInterval(() => void this.probe(), PROBE_INTERVAL_MS);
    this.#probeTimer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#probeTimer);
    await Promise.all(this.endpoints.map(({ endpoint }) => endpoint.close()));
  }

  async probe(): Promise<void> {
    await Promise.all(this.endpoints.map((health) => this.#probe.probe(health)));
    // A head counts once it is confirmed, for every caller.
    await this.#heads.measure(0);
    await this.#heads.measureBlockTimes();
  }

  /** Whether some endpoint may be on the right chain; only proof takes a network out. */
  get isRightChain(): boolean {
    return this.endpoints.some((health) => health.isRightChain !== false);
  }

  /** `undefined` while no node could be asked. */
  hasContract(name: ContractName): boolean | undefined {
    return this.#probe.hasContract(name);
  }

  // ---------------------------------------------------------------- one endpoint

  /** Views in the order to try them; at least one unless every endpoint serves another chain. */
  views(): ChainView[] {
    return byPreference(this.endpoints).map(
      (health) => new ChainView(this.chainId, this.schemeContracts, health),
    );
  }

  /**
   * Runs reads through the best endpoint, and through the next one when it does not answer, or not
   * soon: then both may be under way, and the first to come to its end is taken. The reads must not do
   * anything that may not be done twice.
   *
   * @throws ChainUnavailableError when none answers.
   */
  async withView<T>(use: (view: ChainView) => Promise<T>): Promise<T> {
    const done = await firstAnswer(this.views(), use);
    if (done !== undefined) return done.value;
    throw new ChainUnavailableError(this.chainId, 'any call');
  }

  // ---------------------------------------------------------------- heads

  /** The newest block any endpoint has shown. */
  get bestHead(): EndpointHealth | undefined {
    let best: EndpointHealth | undefined;
    for (const health of this.endpoints) {
      if (health.head === undefined || health.isRightChain === false) continue;
      if (best?.head === undefined || health.head.number > best.head.number) best = health;
    }
    return best;
  }

  /**
   * The newest time of a block that any endpoint has shown, in Unix seconds. One endpoint with a wrong time
   * makes no chain old.
   */
  get newestBlockTime(): number | undefined {
    const times = this.endpoints.flatMap(({ head, isRightChain }) =>
      head === undefined || isRightChain === false ? [] : [head.timestamp],
    );
    return times.length === 0 ? undefined : Math.max(...times);
  }

  /** The number of the newest block any endpoint has shown lately; 0 when none has. */
  get newestKnownBlock(): bigint {
    return this.#heads.newestKnown;
  }

  /** The newest known blocks at this moment. */
  get knownHeads(): KnownHeads {
    return this.#heads.known;
  }

  /**
   * The newest blocks, to be searched: to the newest one that any endpoint has shown. A use there
   * counts even if other endpoints lag behind.
   *
   * @throws ChainUnavailableError
   */
  async recentBlocks(count: bigint): Promise<BlockRange> {
    const own = await this.withView((view) => view.blockNumber());
    const to = own > this.newestKnownBlock ? own : this.newestKnownBlock;
    return { from: to > count ? to - count : 0n, to };
  }

  /**
   * @throws ChainUnavailableError when a leap of this head is not borne out.
   */
  confirmLeap(view: ChainView, latest: BlockHeader): Promise<void> {
    return this.#heads.confirmLeap(view, latest);
  }

  /**
   * Judges something through the best endpoint that is near enough to the newest block any endpoint
   * has shown. The others are asked for their heads at the same time.
   *
   * @param need - how near, by what the judgement says.
   * @param isFresh - whether the heads have to be asked for now; else a look of this moment serves.
   * @returns also the newest block, which the judgement knew if it had to.
   * @throws ChainUnavailableError when no endpoint is near enough.
   */
  async verifyNearHead<T>(
    work: (view: ChainView) => Promise<T>,
    need: (value: T) => NeededHead,
    isFresh = false,
  ): Promise<NearHeadAnswer<T>> {
    return verifyNearHead(this.#endpointSet(isFresh), work, need);
  }

  /**
   * The same at the newest block of now, by two endpoints where two are there that answer and do not stand still.
   *
   * @param join - what they say together.
   * @throws ChainUnavailableError when a second one does not answer just now, too.
   */
  verifyByTwo<T>(
    work: (view: ChainView) => Promise<T>,
    need: (value: T) => NeededHead,
    join: Join<T>,
  ): Promise<NearHeadAnswer<T>> {
    return verifyNearHead(this.#endpointSet(true), work, need, join);
  }

  #endpointSet(isFresh: boolean): EndpointSet {
    return {
      chainId: this.chainId,
      views: () => this.views(),
      measure: () => this.#heads.measure(isFresh ? 0 : HEADS_KEPT_MS),
      needsHead: isFresh,
    };
  }

  // ---------------------------------------------------------------- two endpoints

  /**
   * Asks for what will be believed for good: two endpoints have to say the same, where there are two
   * that answer and keep up.
   *
   * @throws ChainUnavailableError, EndpointsDisagreeError
   */
  quorumRead<T>(question: Question<T>): Promise<T> {
    return quorumRead(this.#quorumContext(), question);
  }

  /**
   * What the other endpoints that are there have where one has shown its newest block: their block
   * of that number, whatever its hash, or their newest one. The hash of a made-up block is unknown
   * to the others.
   */
  async newestElsewhere(view: ChainView, header: BlockHeader): Promise<readonly BlockHeader[]> {
    const others = this.views().filter(({ health }) => health !== view.health);
    const shown = await eachAnswer(
      others,
      async (other) => (await other.block(header.number)) ?? (await other.latestBlock()),
    );
    const differs = (one: BlockHeader): boolean =>
      one.hash === header.hash &&
      (!isSameBlock(one, header) || one.baseFeePerGas !== header.baseFeePerGas);
    if (shown.some(differs)) this.noteDisagreement('block header');
    return shown;
  }

  /** @throws ChainUnavailableError, EndpointsDisagreeError */
  finalizedBlock(view: ChainView, latest: BlockHeader): Promise<BlockHeader | undefined> {
    return agreeOnFinalized(this.#quorumContext(), view, latest);
  }

  /** The newest final block, for those who do not follow the chain. */
  async currentFinalizedBlock(): Promise<BlockHeader | undefined> {
    return this.withView(async (view) => this.finalizedBlock(view, await view.latestBlock()));
  }

  /**
   * How many transactions of an account there are: in the newest block, in the pools, and for good.
   *
   * @throws ChainUnavailableError, EndpointsDisagreeError
   */
  async transactionCount(address: Address): Promise<TransactionCounts> {
    const blocks = await this.withView(async (view) => {
      const latest = await view.latestBlock();
      // The final block may be in doubt without the newest count being so.
      const finalized = await attempt(() => this.finalizedBlock(view, latest)).catch(noneInDoubt);
      return { latest, finalized: finalized?.value };
    });
    return countTransactions(this.#quorumContext(), address, blocks);
  }

  /**
   * How many account nonces of an account are used in one block.
   *
   * @throws ChainUnavailableError, EndpointsDisagreeError
   */
  transactionCountAt(address: Address, block: BlockHeader): Promise<number> {
    return countAt(this.#quorumContext(), address, block);
  }

  /** Wei, as one endpoint has it. @throws ChainUnavailableError */
  balance(address: Address): Promise<bigint> {
    return this.withView((view) => view.balance(address));
  }

  /** Wei, as two endpoints have it; the most that any has where no two say the same. @throws ChainUnavailableError */
  async balanceByAll(address: Address): Promise<bigint> {
    const balances = await eachAnswer(this.views(), (view) => view.balance(address));
    const byTwo = balances.find((one, index) => balances.indexOf(one) < index);
    if (byTwo !== undefined) return byTwo;
    const [first, ...others] = balances;
    if (first === undefined) throw new ChainUnavailableError(this.chainId, 'a balance');
    return others.reduce((most, one) => (one > most ? one : most), first);
  }

  /**
   * Whether any endpoint says so. All are asked at once: a lane that changes hands must not wait for one after the other.
   *
   * @throws ChainUnavailableError when none answers within a second.
   */
  async hasCode(address: Address): Promise<boolean> {
    const answers = await Promise.all(
      this.views().map((view) => attempt(() => view.within(ANY_TIMEOUT_MS).hasCode(address))),
    );
    if (answers.every((answer) => answer === undefined)) {
      throw new ChainUnavailableError(this.chainId, 'the code of a signer');
    }
    return answers.some((answer) => answer?.value === true);
  }

  #quorumContext(): QuorumContext {
    return {
      chainId: this.chainId,
      views: this.views(),
      onDisagreement: this.noteDisagreement,
      onMissingEndpoint: () => void this.#heads.measure(HEADS_KEPT_MS),
    };
  }

  /** Endpoints contradict each other. @param what - a few fixed words, nothing from outside. */
  readonly noteDisagreement = (what: string): void => {
    const now = performance.now();
    this.parts.rpcObserver?.disagreed({ chainId: this.chainId, what });
    if (now - (this.#alertedAt.get(what) ?? Number.NEGATIVE_INFINITY) < ALERT_INTERVAL_MS) return;
    this.#alertedAt.set(what, now);
    this.parts.observer?.endpointsDisagree(what);
  };

  // ---------------------------------------------------------------- sending

  /**
   * Sends to every endpoint at once; the same bytes may be sent any number of times.
   *
   * @param onResult - called with the answer of each endpoint as it comes: a slow one delays no other's.
   * @returns the answers of all.
   */
  async broadcast(
    raw: Hex,
    onResult: (result: SendResult) => void = () => undefined,
  ): Promise<readonly SendResult[]> {
    const targets = this.endpoints.filter((health) => health.isRightChain !== false);
    return Promise.all(
      targets.map(async (health) => {
        const answer = await health.endpoint.request(
          'eth_sendRawTransaction',
          [raw],
          SEND_TIMEOUT_MS,
        );
        const result = readSendResult(answer);
        if (result.kind === 'underpriced' && result.leastTipWei !== undefined) {
          noteLeastTip(health, result.leastTipWei);
        }
        onResult(result);
        return result;
      }),
    );
  }
}

function noneInDoubt(error: unknown): undefined {
  if (!(error instanceof EndpointsDisagreeError)) throw error;
  return undefined;
}
