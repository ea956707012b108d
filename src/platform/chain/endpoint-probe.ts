import { zeroHash } from 'viem';
import {
  type ContractName,
  contractsOf,
  MULTICALL3,
  type SchemeContracts,
} from '../../protocol/evm/contracts.js';
import { quantity, readBlockHeader, readQuantity } from './block.js';
import type { ChainObserver } from './chain-observer.js';
import { type EndpointHealth, noteAnswer, noteFailure, noteOutcome } from './endpoint-health.js';
import type { Ability } from './refusals.js';
import type { RpcOutcome } from './rpc/rpc-outcome.js';
import { IDENTITY_PRECOMPILE } from './simulation-support.js';

const PROBE_TIMEOUT_MS = 3000;
/** An ability without a question for this long is probed: questions about payments prove more. */
const UNASKED_MS = 5000;
/** JSON-RPC 2.0 §5.1. */
const METHOD_NOT_FOUND = -32_601;
/**
 * Consecutive probes that were answered without logs before an endpoint counts as one without them. A search that is
 * not made finds nothing, and a moment of trouble must not cause that.
 */
const REFUSALS_WITHOUT_LOGS = 3;
/**
 * Consecutive probes with all answers except the `finalized` tag, before an endpoint counts as one without it and its
 * blocks count as final by depth. As a silent one it would keep every outcome pending. Ten minutes: a busy gateway must
 * not make blocks final early.
 */
const SILENT_WITHOUT_TAG = 60;

type Question = readonly [method: string, params: readonly unknown[]];
type Ask = (...question: Question) => Promise<RpcOutcome>;
type Codes = readonly (readonly [ContractName, RpcOutcome])[];

/** Learns the abilities of the endpoints of one chain, and which contracts are on it. */
export class EndpointProbe {
  readonly #contracts = new Map<ContractName, boolean>();

  constructor(
    private readonly chainId: number,
    private readonly schemeContracts: SchemeContracts,
    private readonly observer: ChainObserver | undefined,
  ) {}

  /** Whether a required contract is deployed; `undefined` while no node has answered. */
  hasContract(name: ContractName): boolean | undefined {
    return this.#contracts.get(name);
  }

  /** Learns everything about this endpoint again. */
  async probe(health: EndpointHealth): Promise<void> {
    const { endpoint } = health;
    endpoint.retryBatches();
    const ask: Ask = (method, params) => endpoint.request(method, params, PROBE_TIMEOUT_MS);
    const [chainId, finalized, logs, contracts] = await Promise.all([
      ask('eth_chainId', []),
      ask('eth_getBlockByNumber', ['finalized', false]),
      ask('eth_getLogs', [{ fromBlock: 'latest', toBlock: 'latest', address: MULTICALL3 }]),
      this.#askForContracts(ask),
    ]);
    this.#noteReachable(health, chainId.kind === 'result');
    if (chainId.kind !== 'result') return;
    const seen = readQuantity(chainId.value);
    if (seen !== undefined) this.noteChain(health, seen);
    if (health.isRightChain !== true) return;
    this.#noteContracts(contracts);
    noteFinalizedTag(health, finalized);
    this.#noteLogs(health, logs);
    await this.#askAgain(health, ask);
  }

  /** Asks again what it could not answer, because without settlements no other request does. */
  async #askAgain(health: EndpointHealth, ask: Ask): Promise<void> {
    for (const ability of health.refusals.unaskedFor(UNASKED_MS)) {
      const question = questionFor(ability, health);
      if (question !== undefined) noteOutcome(health, ability, await ask(...question));
    }
  }

  /** @param servedChainId - the endpoint's answer. */
  noteChain(health: EndpointHealth, servedChainId: bigint): void {
    const isRightChain = servedChainId === BigInt(this.chainId);
    if (!isRightChain && health.isRightChain !== false) {
      const { name: endpoint } = health.endpoint;
      this.observer?.endpointChanged({ endpoint, what: 'wrong_chain', servedChainId });
    }
    health.isRightChain = isRightChain;
  }

  #noteReachable(health: EndpointHealth, isAnswering: boolean): void {
    if (isAnswering) noteAnswer(health);
    else noteFailure(health);
    if (health.isReachable === isAnswering) return;
    if (!isAnswering || health.isReachable !== undefined) {
      const what = isAnswering ? 'reachable' : 'unreachable';
      this.observer?.endpointChanged({ endpoint: health.endpoint.name, what });
    }
    health.isReachable = isAnswering;
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

  /** Asks for each contract until it is found; code does not disappear. */
  async #askForContracts(ask: Ask): Promise<Codes> {
    return Promise.all(
      contractsOf(this.schemeContracts)
        .filter(([name]) => this.#contracts.get(name) !== true)
        .map(
          async ([name, address]) => [name, await ask('eth_getCode', [address, 'latest'])] as const,
        ),
    );
  }

  #noteContracts(codes: Codes): void {
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

/** A node that answers with an error does not support the tag; one that is silent only for this may be busy. */
function noteFinalizedTag(health: EndpointHealth, finalized: RpcOutcome): void {
  if (finalized.kind !== 'silent') {
    health.silentTags = 0;
    health.hasFinalizedTag =
      finalized.kind === 'result' && readBlockHeader(finalized.value) !== undefined;
    return;
  }
  health.silentTags += 1;
  health.hasFinalizedTag = health.silentTags >= SILENT_WITHOUT_TAG ? false : undefined;
}

/** A request about a block it has shown, which every endpoint with the ability can answer. */
function questionFor(ability: Ability, { shown }: EndpointHealth): Question | undefined {
  switch (ability) {
    case 'receipts':
      return ['eth_getTransactionReceipt', [zeroHash]];
    case 'calls':
      return ['eth_call', [{ to: IDENTITY_PRECOMPILE, data: '0x' }, 'latest']];
    case 'blocks':
      return shown && ['eth_getBlockByNumber', [quantity(shown.number), false]];
    case 'state':
      return shown && ['eth_getBalance', [MULTICALL3, { blockHash: shown.hash }]];
  }
}
