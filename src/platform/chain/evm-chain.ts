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
import { Disagreements } from './disagreements.js';
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
import {
  eachAnswer,
  type NoteDisagreement,
  type Question,
  type QuorumContext,
  quorumRead,
  statementOf,
} from './quorum.js';
import type { RpcCaller } from './rpc/rpc-caller.js';
import { readSendResult, type SendResult } from './rpc/rpc-classes.js';
import { RpcEndpoint } from './rpc/rpc-endpoint.js';
import type { RpcObserver } from './rpc/rpc-observer.js';
import { countAt, countTransactions, type TransactionCounts } from './transaction-counts.js';
import type { BlockRange } from './use-search/scan.js';
import { UseSearch } from './use-search/use-search.js';

/** Probe interval of each endpoint, which bounds how long a mistake of a node lasts. */
const PROBE_INTERVAL_MS = 8000;
const SEND_TIMEOUT_MS = 5000;
/** Time-out of questions that any one endpoint may answer. */
const ANY_TIMEOUT_MS = 1000;
/** A measurement of all heads serves verifications for this long. */
const HEADS_KEPT_MS = 150;

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
  /** Searches for the transaction that used an authorization. */
  readonly uses: UseSearch;
  readonly #probe: EndpointProbe;
  readonly #heads: Heads;
  readonly #disagreements = new Disagreements();
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

  /** Tokens whose code the operator trusts. */
  trust(tokens: readonly Address[]): void {
    const own = contractsOf(this.schemeContracts).map(([, address]) => address);
    for (const { contracts } of this.endpoints) contracts.conduct.trust([...own, ...tokens]);
  }

  /** Probes at once and then at intervals, so that a network that was unreachable at start recovers by itself. */
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
    for (const { what, times } of this.#disagreements.takeEnded())
      this.parts.observer?.endpointsAgree(what, times);
  }

  /** Whether some endpoint may be on the right chain; only proof excludes a network. */
  get isRightChain(): boolean {
    return this.endpoints.some((health) => health.isRightChain !== false);
  }

  /** `undefined` while no node has answered. */
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
   * Runs reads through the best endpoint, and also through the next one if it does not answer soon; the first result
   * counts. The reads must be repeatable.
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
   * The newest block time of any endpoint, in Unix seconds, so that one endpoint with a wrong time makes no chain old.
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
   * The range of the newest blocks for a search, up to the newest block of any endpoint. A use there counts even if
   * other endpoints lag.
   *
   * @throws ChainUnavailableError
   */
  async recentBlocks(count: bigint): Promise<BlockRange> {
    const own = await this.withView((view) => view.blockNumber());
    const to = own > this.newestKnownBlock ? own : this.newestKnownBlock;
    return { from: to > count ? to - count : 0n, to };
  }

  /** @throws ChainUnavailableError when a leap of this head is not confirmed. */
  confirmLeap(view: ChainView, latest: BlockHeader): Promise<void> {
    return this.#heads.confirmLeap(view, latest);
  }

  /**
   * Verifies something through the best endpoint that is near enough to the newest known block. The heads of the others
   * are read at the same time.
   *
   * @param need - how near, depending on the result.
   * @param isFresh - whether the heads have to be read now; otherwise a recent measurement serves.
   * @returns the result with the newest block, which the verification knew if required.
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
   * The same at the present newest block, by two endpoints if two of them answer and are not stuck.
   *
   * @param join - combines their results.
   * @throws ChainUnavailableError also when a second endpoint does not answer now.
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
   * Reads a fact that decides for good: two endpoints have to agree, if two of them answer and keep up.
   *
   * @throws ChainUnavailableError, EndpointsDisagreeError
   */
  quorumRead<T>(question: Question<T>): Promise<T> {
    return quorumRead(this.#quorumContext(), question);
  }

  /**
   * The other live endpoints' blocks with the number of a newest block, whatever their hash, or their newest ones.
   * Other endpoints do not have the hash of a made-up block.
   */
  async newestElsewhere(view: ChainView, header: BlockHeader): Promise<readonly BlockHeader[]> {
    const others = this.views().filter(({ health }) => health !== view.health);
    const shown = await eachAnswer(others, async (other) => ({
      view: other,
      block: (await other.block(header.number)) ?? (await other.latestBlock()),
    }));
    const differing = shown.find(
      ({ block }) =>
        block.hash === header.hash &&
        (!isSameBlock(block, header) || block.baseFeePerGas !== header.baseFeePerGas),
    );
    if (differing !== undefined) {
      this.noteDisagreement('block header', [
        statementOf(view, textOf(header)),
        statementOf(differing.view, textOf(differing.block)),
      ]);
    }
    return shown.map(({ block }) => block);
  }

  /** @throws ChainUnavailableError, EndpointsDisagreeError */
  finalizedBlock(view: ChainView, latest: BlockHeader): Promise<BlockHeader | undefined> {
    return agreeOnFinalized(this.#quorumContext(), view, latest);
  }

  /** The newest final block, for callers that do not follow the chain. */
  async currentFinalizedBlock(): Promise<BlockHeader | undefined> {
    return this.withView(async (view) => this.finalizedBlock(view, await view.latestBlock()));
  }

  /**
   * The number of transactions of an account: in the newest block, in the pools, and final.
   *
   * @throws ChainUnavailableError, EndpointsDisagreeError
   */
  async transactionCount(address: Address): Promise<TransactionCounts> {
    const blocks = await this.withView(async (view) => {
      const latest = await view.latestBlock();
      // The final block may be in doubt while the newest count is not.
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

  /** Wei, from one endpoint. @throws ChainUnavailableError */
  balance(address: Address): Promise<bigint> {
    return this.withView((view) => view.balance(address));
  }

  /** Wei on which two endpoints agree; if no two agree, the highest value. @throws ChainUnavailableError */
  async balanceByAll(address: Address): Promise<bigint> {
    const balances = await eachAnswer(this.views(), (view) => view.balance(address));
    const byTwo = balances.find((one, index) => balances.indexOf(one) < index);
    if (byTwo !== undefined) return byTwo;
    const [first, ...others] = balances;
    if (first === undefined) throw new ChainUnavailableError(this.chainId, 'account balance');
    return others.reduce((most, one) => (one > most ? one : most), first);
  }

  /**
   * Whether any endpoint says so. All are asked at once, because a lane that changes hands must not wait for one after
   * another.
   *
   * @throws ChainUnavailableError when none answers within a second.
   */
  async hasCode(address: Address): Promise<boolean> {
    const answers = await Promise.all(
      this.views().map((view) => attempt(() => view.within(ANY_TIMEOUT_MS).hasCode(address))),
    );
    if (answers.every((answer) => answer === undefined)) {
      throw new ChainUnavailableError(this.chainId, 'code of a signer');
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

  readonly noteDisagreement: NoteDisagreement = (what, answers) => {
    this.parts.rpcObserver?.disagreed({ chainId: this.chainId, what });
    if (this.#disagreements.note(what)) this.parts.observer?.endpointsDisagree(what, answers);
  };

  // ---------------------------------------------------------------- sending

  /**
   * Sends to every endpoint at once; the same bytes may be sent any number of times.
   *
   * @param onResult - called with the answer of each endpoint when it arrives, so that a slow one delays no other.
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

/** The fields in which two headers with one hash can differ. */
function textOf({ number, timestamp, parentHash, baseFeePerGas }: BlockHeader): string {
  return `block ${number}, time ${timestamp}, parent ${parentHash ?? 'unknown'}, base fee ${baseFeePerGas ?? 'none'}`;
}

function noneInDoubt(error: unknown): undefined {
  if (!(error instanceof EndpointsDisagreeError)) throw error;
  return undefined;
}
