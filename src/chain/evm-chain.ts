import type { Address, Hex } from 'viem';
import type { NetworkConfig } from '../config/app-config.js';
import { MULTICALL3, PERMIT2 } from '../core/exact/contracts.js';
import { ChainUnavailableError } from '../core/errors.js';
import { type BlockHeader, readBlockHeader, readQuantity } from './block.js';
import { ChainView } from './chain-view.js';
import { ContractPresence } from './contract-presence.js';
import {
  byPreference,
  type EndpointHealth,
  LAG_MAX_BLOCKS,
  newEndpointHealth,
  noteFailure,
  noteHead,
} from './endpoint-health.js';
import { readSendResult, type SendResult } from './rpc/rpc-classes.js';
import { RpcEndpoint } from './rpc/rpc-endpoint.js';
import type { RpcObserver } from './rpc/rpc-observer.js';
import type { RpcOutcome } from './rpc/rpc-outcome.js';

const PROBE_INTERVAL_MS = 10_000;
const PROBE_TIMEOUT_MS = 3000;
const SEND_TIMEOUT_MS = 5000;
/** JSON-RPC 2.0 §5.1. */
const METHOD_NOT_FOUND = -32_601;
/**
 * Probes in a row that were answered without logs before an endpoint counts as one without: a search
 * that is not made finds nothing, and a node that has trouble for a moment must not cause that.
 */
const REFUSALS_WITHOUT_LOGS = 3;

/** Contracts that methods of this service need; `undefined` until a node was asked. */
export type ContractName = 'permit2' | 'permit2Proxy' | 'multicall3';

/** Told when what is known about a network changes; for logs. */
export interface ChainObserver {
  endpointChanged(change: {
    readonly endpoint: string;
    readonly what: 'wrong_chain' | 'unreachable' | 'reachable' | 'no_logs';
  }): void;
  contractFound(contract: ContractName, isPresent: boolean): void;
}

/** One network, seen through all its endpoints. */
export class EvmChain {
  readonly chainId: number;
  readonly permit2Proxy: Address;
  readonly endpoints: readonly EndpointHealth[];
  readonly #presence = new ContractPresence();
  readonly #contracts = new Map<ContractName, boolean>();
  #probeTimer: NodeJS.Timeout | undefined;

  constructor(
    readonly config: NetworkConfig,
    rpcObserver?: RpcObserver,
    private readonly observer?: ChainObserver,
  ) {
    this.chainId = config.chainId;
    this.permit2Proxy = config.permit2Proxy;
    this.endpoints = config.rpcUrls.map((url, index): EndpointHealth => {
      const name = `${config.chainId}-${index}`;
      const onWrongChain = (): void => {
        this.#noteChain(health, false);
      };
      const endpoint = new RpcEndpoint(name, config.chainId, url, onWrongChain, rpcObserver);
      const health = newEndpointHealth(endpoint);
      return health;
    });
  }

  /** Probes once, then every ten seconds; a network lost at boot comes back by itself. */
  async start(): Promise<void> {
    await this.probe();
    this.#probeTimer = setInterval(() => void this.probe(), PROBE_INTERVAL_MS);
    this.#probeTimer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#probeTimer);
    await Promise.all(this.endpoints.map(({ endpoint }) => endpoint.close()));
  }

  /** Whether some endpoint may be on the right chain; only proof takes a network out. */
  get isRightChain(): boolean {
    return this.endpoints.some((health) => health.isRightChain !== false);
  }

  /** `undefined` while no node could be asked. */
  hasContract(name: ContractName): boolean | undefined {
    return this.#contracts.get(name);
  }

  /** The newest block any endpoint has shown. */
  get bestHead(): EndpointHealth | undefined {
    let best: EndpointHealth | undefined;
    for (const health of this.endpoints) {
      if (health.head === undefined || health.isRightChain === false) continue;
      if (best?.head === undefined || health.head.number > best.head.number) best = health;
    }
    return best;
  }

  /** Views in the order to try them; at least one unless every endpoint serves another chain. */
  views(): ChainView[] {
    return byPreference(this.endpoints).map(
      (health) => new ChainView(this.chainId, this.permit2Proxy, health, this.#presence),
    );
  }

  /**
   * Runs reads through the best endpoint, and through the next one when it does not answer.
   *
   * @throws ChainUnavailableError when none answers.
   */
  async withView<T>(use: (view: ChainView) => Promise<T>): Promise<T> {
    for (const view of this.views()) {
      try {
        return await use(view);
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
    }
    throw new ChainUnavailableError(this.chainId, 'any call');
  }

  /**
   * Whether the endpoint of this view is behind others by more than is believable. It is asked before
   * a payment is refused by what this endpoint said.
   */
  async isBehind(view: ChainView): Promise<boolean> {
    const others = byPreference(this.endpoints);
    if (others.length < 2) return false;
    const heights = await Promise.all(
      others.map(async (health) => ({ health, height: await this.#blockNumber(health) })),
    );
    const own = heights.find(({ health }) => health === view.health)?.height;
    if (own === undefined) return true;
    const best = heights.reduce(
      (most, { height }) => (height !== undefined && height > most ? height : most),
      own,
    );
    view.health.lag = best - own;
    return best - own > LAG_MAX_BLOCKS;
  }

  async #blockNumber({ endpoint }: EndpointHealth): Promise<bigint | undefined> {
    const answer = await endpoint.request('eth_blockNumber', [], 1000);
    return answer.kind === 'result' ? readQuantity(answer.value) : undefined;
  }

  /** Sends to every endpoint at once; the same bytes may be sent any number of times. */
  async broadcast(raw: Hex): Promise<readonly SendResult[]> {
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
          health.leastTipWei = result.leastTipWei;
        }
        return result;
      }),
    );
  }

  async probe(): Promise<void> {
    const heads = await Promise.all(this.endpoints.map((health) => this.#probeEndpoint(health)));
    let best = -1n;
    for (const head of heads) if (head !== undefined && head.number > best) best = head.number;
    this.endpoints.forEach((health, index) => {
      const head = heads[index];
      if (head !== undefined) health.lag = best - head.number;
    });
  }

  async #probeEndpoint(health: EndpointHealth): Promise<BlockHeader | undefined> {
    const { endpoint } = health;
    endpoint.retryBatches();
    const ask = (method: string, params: readonly unknown[]): Promise<RpcOutcome> =>
      endpoint.request(method, params, PROBE_TIMEOUT_MS);
    const [chainId, latest, finalized, logs, contracts] = await Promise.all([
      ask('eth_chainId', []),
      ask('eth_getBlockByNumber', ['latest', false]),
      ask('eth_getBlockByNumber', ['finalized', false]),
      ask('eth_getLogs', [{ fromBlock: 'latest', toBlock: 'latest', address: MULTICALL3 }]),
      this.#askForContracts(ask),
    ]);
    const isAnswering = chainId.kind === 'result';
    if (health.isReachable !== isAnswering) {
      if (!isAnswering || health.isReachable !== undefined) {
        const what = isAnswering ? 'reachable' : 'unreachable';
        this.observer?.endpointChanged({ endpoint: endpoint.name, what });
      }
      health.isReachable = isAnswering;
    }
    if (!isAnswering) {
      noteFailure(health);
      return undefined;
    }
    const seen = readQuantity(chainId.value);
    if (seen !== undefined) this.#noteChain(health, seen === BigInt(this.chainId));
    if (health.isRightChain !== true) return undefined;
    this.#noteContracts(contracts);
    health.hasFinalizedTag = answered(finalized, (value) => readBlockHeader(value) !== undefined);
    this.#noteLogs(health, logs);
    const head = latest.kind === 'result' ? readBlockHeader(latest.value) : undefined;
    if (head !== undefined) noteHead(health, head);
    return head;
  }

  #noteChain(health: EndpointHealth, isRightChain: boolean): void {
    if (!isRightChain && health.isRightChain !== false) {
      this.observer?.endpointChanged({ endpoint: health.endpoint.name, what: 'wrong_chain' });
    }
    health.isRightChain = isRightChain;
  }

  #noteLogs(health: EndpointHealth, outcome: RpcOutcome): void {
    if (outcome.kind === 'silent') return;
    if (outcome.kind === 'result' && Array.isArray(outcome.value)) {
      health.refusedLogs = 0;
      health.hasLogs = true;
      return;
    }
    health.refusedLogs += 1;
    const isDefinite = outcome.kind === 'error' && outcome.error.code === METHOD_NOT_FOUND;
    if (!isDefinite && health.refusedLogs < REFUSALS_WITHOUT_LOGS) return;
    if (health.hasLogs !== false) {
      this.observer?.endpointChanged({ endpoint: health.endpoint.name, what: 'no_logs' });
    }
    health.hasLogs = false;
  }

  /** Asks for each contract until it is found; code does not go away again. */
  async #askForContracts(
    ask: (method: string, params: readonly unknown[]) => Promise<RpcOutcome>,
  ): Promise<readonly (readonly [ContractName, RpcOutcome])[]> {
    const addresses: readonly (readonly [ContractName, Address])[] = [
      ['permit2', PERMIT2],
      ['permit2Proxy', this.permit2Proxy],
      ['multicall3', MULTICALL3],
    ];
    return Promise.all(
      addresses
        .filter(([name]) => this.#contracts.get(name) !== true)
        .map(
          async ([name, address]) => [name, await ask('eth_getCode', [address, 'latest'])] as const,
        ),
    );
  }

  #noteContracts(codes: readonly (readonly [ContractName, RpcOutcome])[]): void {
    for (const [name, code] of codes) {
      if (code.kind !== 'result' || typeof code.value !== 'string') continue;
      const isPresent = code.value !== '0x';
      const known = this.#contracts.get(name);
      if (known === true || known === isPresent) continue;
      this.#contracts.set(name, isPresent);
      this.observer?.contractFound(name, isPresent);
    }
  }
}

/** A node that answers with an error does not have the method; one that is silent was not asked. */
function answered(outcome: RpcOutcome, isGood: (value: unknown) => boolean): boolean | undefined {
  if (outcome.kind === 'silent') return undefined;
  return outcome.kind === 'result' && isGood(outcome.value);
}
