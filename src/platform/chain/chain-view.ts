import { type Address, type Hex, isAddress, isHex } from 'viem';
import {
  CallNotSentError,
  CannotAnswerError,
  ChainUnavailableError,
} from '../../protocol/errors.js';
import type { EffectAfter, FirstCall } from '../../protocol/evm/approval-chain.js';
import type { Call } from '../../protocol/evm/calls.js';
import {
  type CallOutcome,
  type ChainReader,
  type Effect,
  READ_GAS,
  type Sender,
  type Settlement,
  type StateReader,
} from '../../protocol/evm/chain-reader.js';
import type { SchemeContracts } from '../../protocol/evm/contracts.js';
import { type BlockHeader, quantity, readBlockHeader, readCount, readQuantity } from './block.js';
import { CallRunner } from './call-runner.js';
import type {
  BlockPoint,
  CallFromSomebody,
  FullBlock,
  LogFilter,
  TransactionCall,
} from './chain-queries.js';
import {
  ask,
  type EndpointHealth,
  isAtShownBlock,
  isRecent,
  noteAnswer,
  noteBlock,
  noteFailure,
  noteHead,
  noteOutcome,
  UNREADABLE,
} from './endpoint-health.js';
import { type FoundLog, readLogs, readReceipt, type Receipt } from './receipt.js';
import type { Ability } from './refusals.js';
import type { RpcOutcome } from './rpc/rpc-outcome.js';

/** Long enough for a slow node, short enough to ask another one before the client's deadline. */
const READ_TIMEOUT_MS = 2500;
/**
 * Blocks at this depth count as final where the chain has no `finalized` tag: a turn of sixteen blocks of one validator
 * of BNB Chain, and some more.
 */
const FINAL_DEPTH_WITHOUT_TAG = 20n;

/**
 * Reads of one chain through one endpoint, so that they are consistent: every question of this service, with a name and
 * types. Nothing outside this room speaks JSON-RPC.
 *
 * Every method throws {@link ChainUnavailableError} when this endpoint does not answer, answers with an error, or with
 * a malformed value. A missing object is `undefined`. One endpoint may lie, so final facts are read through
 * `EvmChain.quorumRead`.
 */
export class ChainView implements ChainReader {
  constructor(
    readonly chainId: number,
    readonly schemeContracts: SchemeContracts,
    readonly health: EndpointHealth,
    private readonly timeoutMs = READ_TIMEOUT_MS,
  ) {}

  /** The same endpoint with a shorter time-out. */
  within(timeoutMs: number): ChainView {
    return new ChainView(this.chainId, this.schemeContracts, this.health, timeoutMs);
  }

  // ---------------------------------------------------------------- blocks

  /** Number of the newest block. */
  async blockNumber(): Promise<bigint> {
    return this.#quantity('eth_blockNumber', []);
  }

  /** Header of the newest block. */
  async latestBlock(): Promise<BlockHeader> {
    const latest = await this.#block('latest');
    if (latest === undefined) throw this.#unavailable('latest block');
    noteHead(this.health, latest);
    return latest;
  }

  /**
   * Header of the newest block that cannot be replaced: by the tag if this node supports it, otherwise by depth below
   * `latest`. `undefined` on a shorter chain.
   */
  async finalizedBlock(latest: BlockHeader): Promise<BlockHeader | undefined> {
    if (this.health.hasFinalizedTag !== false) return this.#block('finalized');
    return latest.number < FINAL_DEPTH_WITHOUT_TAG
      ? undefined
      : this.block(latest.number - FINAL_DEPTH_WITHOUT_TAG);
  }

  /** `undefined` where this node has no block of this number. */
  async block(number: bigint): Promise<BlockHeader | undefined> {
    const block = await this.#block(quantity(number));
    if (block !== undefined && block.number !== number) throw this.#unavailable('block');
    return block;
  }

  async #block(name: string): Promise<BlockHeader | undefined> {
    const value = await this.#read('eth_getBlockByNumber', [name, false]);
    const header = this.#header(value);
    if (header !== undefined) noteBlock(this.health, header);
    return header;
  }

  /** A malformed block must not count as a missing one. */
  #header(value: unknown): BlockHeader | undefined {
    const header = readBlockHeader(value);
    if (header === undefined && value !== null) throw this.#unavailable('block');
    return header;
  }

  async fullBlock(number: bigint): Promise<FullBlock | undefined> {
    const value = await this.#read('eth_getBlockByNumber', [quantity(number), true]);
    const header = this.#header(value);
    if (header === undefined) return undefined;
    if (header.number !== number) throw this.#unavailable('full block');
    const { transactions } = value as { readonly transactions?: unknown };
    const read = Array.isArray(transactions) ? transactions.map(readTransaction) : [undefined];
    // A block with unreadable transactions must not count as one without the searched transaction.
    if (read.includes(undefined)) throw this.#unavailable('full block');
    return { ...header, transactions: read.filter((one) => one !== undefined) };
  }

  /**
   * Receipts of all transactions of a block (eth_getBlockReceipts); `undefined` where this node has no such block. Many
   * nodes do not support the method and answer with an error.
   */
  async blockReceipts(number: bigint): Promise<readonly Receipt[] | undefined> {
    const value = await this.#read('eth_getBlockReceipts', [quantity(number)]);
    if (value === null) return undefined;
    const read = Array.isArray(value) ? value.map(readReceipt) : [undefined];
    if (read.includes(undefined)) throw this.#unavailable('eth_getBlockReceipts');
    return read.filter((one) => one !== undefined);
  }

  // ---------------------------------------------------------------- transactions

  /** `undefined` while the transaction is not mined, as far as this node knows. */
  async receipt(hash: Hex): Promise<Receipt | undefined> {
    const receipt = readReceipt(await this.#read('eth_getTransactionReceipt', [hash]));
    if (receipt !== undefined && receipt.hash !== hash) throw this.#unavailable('receipt');
    return receipt;
  }

  /** `undefined` where this node knows no such transaction, mined or not. */
  async transaction(hash: Hex): Promise<TransactionCall | undefined> {
    const transaction = readTransaction(await this.#read('eth_getTransactionByHash', [hash]));
    if (transaction !== undefined && transaction.hash !== hash) {
      throw this.#unavailable('transaction');
    }
    return transaction;
  }

  async logs({ address, topics, from, to }: LogFilter): Promise<readonly FoundLog[]> {
    const filter = { address, topics, fromBlock: quantity(from), toBlock: quantity(to) };
    const logs = readLogs(await this.#read('eth_getLogs', [filter]));
    if (logs === undefined) throw this.#unavailable('eth_getLogs');
    return logs;
  }

  // ---------------------------------------------------------------- accounts

  /** Account nonces below this are used. `pending` also counts the pool of this node. */
  async transactionCount(address: Address, at: BlockPoint | 'pending'): Promise<number> {
    const method = 'eth_getTransactionCount';
    const count = readCount(await this.#read(method, [address, pointOf(at)]));
    if (count === undefined) throw this.#unavailable(method);
    return count;
  }

  /** Wei. */
  balance(address: Address, at: BlockPoint = 'latest'): Promise<bigint> {
    return this.#quantity('eth_getBalance', [address, pointOf(at)]);
  }

  async hasCode(address: Address, at: BlockPoint = 'latest'): Promise<boolean> {
    if (at === 'latest') {
      const word = await this.health.joint.hasCode(address, this.timeoutMs);
      if (word === 'not_sent') throw new CallNotSentError(this.chainId, 'eth_getCode');
      if (word === 'silent') throw this.#unavailable('eth_getCode');
      if (word !== 'alone') {
        noteAnswer(this.health);
        return word;
      }
    }
    return (await this.code(address, at)) !== '0x';
  }

  async code(address: Address, at: BlockPoint = 'latest'): Promise<Hex> {
    const code = await this.#read('eth_getCode', [address, pointOf(at)]);
    if (!isHex(code)) throw this.#unavailable('eth_getCode');
    return code;
  }

  isContract(asset: Address): Promise<boolean> {
    return this.health.contracts.isContract(asset, () => this.hasCode(asset));
  }

  // ---------------------------------------------------------------- gas

  /** Wei for a unit of gas, base fee and tip together. */
  gasPrice(): Promise<bigint> {
    return this.#quantity('eth_gasPrice', []);
  }

  /** Wei; `undefined` where this node does not have eth_maxPriorityFeePerGas. */
  async suggestedTip(): Promise<bigint | undefined> {
    const answer = await this.#ask('eth_maxPriorityFeePerGas', []);
    if (answer.kind === 'silent') throw this.#unavailable('eth_maxPriorityFeePerGas');
    return answer.kind === 'result' ? readQuantity(answer.value) : undefined;
  }

  /** Gas units, at most `most`. Also throws where the call would revert, or need more. */
  estimateGas(call: CallFromSomebody, most: bigint): Promise<bigint> {
    return this.#run((runner) => runner.estimateGas(call, most));
  }

  // ---------------------------------------------------------------- calls

  /** @param gas - {@link READ_GAS} when absent: every call has a limit. */
  call(call: Call, gas = READ_GAS, at: BlockPoint = 'latest'): Promise<CallOutcome> {
    return this.#run((runner) => runner.call(call, gas, pointOf(at)));
  }

  /** @param sender - the sender of the call; the node's default when absent. */
  callFrom(sender: Sender | undefined, call: Call, gas: bigint): Promise<CallOutcome> {
    return this.#run((runner) => runner.call(call, gas, 'latest', sender));
  }

  /** A call that this account has chosen, which may run any code. */
  callChosenBy(account: Address, call: Call, gas: bigint): Promise<CallOutcome> {
    return this.#run((runner) => runner.callChosenBy(account, call, gas));
  }

  async newestTime(): Promise<bigint> {
    return BigInt((await this.latestBlock()).timestamp);
  }

  simulate(settlement: Settlement): Promise<Effect> {
    return this.#run((runner) => runner.simulate(settlement));
  }

  /** The same for trusted code, which is otherwise not verified; reports the gas where possible. */
  prove(settlement: Settlement): Promise<Effect> {
    return this.#run((runner) => runner.prove(settlement));
  }

  /** The same after another call; `undefined` where this node cannot. */
  simulateAfter(first: FirstCall, settlement: Settlement): Promise<EffectAfter | undefined> {
    return this.#run((runner) => runner.simulateAfter(first, settlement));
  }

  /**
   * Whether calls of this token wait behind those of others, because it is new or has burnt gas.
   *
   * @param beside - other accounts whose code the calls may run.
   */
  isIsolated(token: Address, beside: Address): boolean {
    return this.health.contracts.conduct.trafficOf(token, beside).kind !== 'open';
  }

  isTrusted(token: Address): boolean {
    return this.health.contracts.conduct.isTrusted(token);
  }

  async #run<T>(work: (runner: CallRunner) => Promise<T>): Promise<T> {
    const { chainId, health, timeoutMs } = this;
    const done = await work(new CallRunner({ chainId, health, timeoutMs }));
    noteAnswer(health);
    return done;
  }

  #ask(method: string, params: readonly unknown[]): Promise<RpcOutcome> {
    return ask(this.health, this.chainId, method, params, this.timeoutMs);
  }

  /** @throws ChainUnavailableError when this endpoint does not answer with a result. */
  async #read(method: string, params: readonly unknown[]): Promise<unknown> {
    const answer = await this.#ask(method, params);
    const ability = abilityFor(method, params, this.health);
    // The endpoint has shown this block itself, so a missing one is a refusal.
    const isMissing = ability === 'blocks' && answer.kind === 'result' && answer.value === null;
    if (noteOutcome(this.health, ability, isMissing ? UNREADABLE : answer)) {
      throw new CannotAnswerError(this.chainId, method);
    }
    if (answer.kind !== 'result') throw this.#unavailable(method);
    noteAnswer(this.health);
    return answer.value;
  }

  /** A malformed number must never count as zero. */
  async #quantity(method: string, params: readonly unknown[]): Promise<bigint> {
    const number = readQuantity(await this.#read(method, params));
    if (number === undefined) throw this.#unavailable(method);
    return number;
  }

  #unavailable(operation: string): ChainUnavailableError {
    noteFailure(this.health);
    return new ChainUnavailableError(this.chainId, operation);
  }
}

/** The reads of one endpoint at one block. */
export function stateAt(
  view: Pick<ChainView, 'chainId' | 'call' | 'hasCode'>,
  at: BlockPoint,
): StateReader {
  return {
    chainId: view.chainId,
    call: (call, gas) => view.call(call, gas, at),
    hasCode: (address) => view.hasCode(address, at),
  };
}

/** The ability that an error of this question disproves; an optional method disproves none. */
function abilityFor(
  method: string,
  params: readonly unknown[],
  health: EndpointHealth,
): Ability | undefined {
  const [first, point] = params;
  switch (method) {
    case 'eth_getTransactionReceipt':
      return 'receipts';
    case 'eth_getBlockByNumber': {
      const number = readQuantity(first);
      return point === false && number !== undefined && isRecent(number, health)
        ? 'blocks'
        : undefined;
    }
    case 'eth_getTransactionCount':
    case 'eth_getBalance':
      return isAtShownBlock(point, health) ? 'state' : undefined;
    default:
      return undefined;
  }
}

/** A block as JSON-RPC names it. */
function pointOf(at: BlockPoint | 'pending'): unknown {
  return typeof at === 'object' && 'blockNumber' in at ? quantity(at.blockNumber) : at;
}

function readTransaction(value: unknown): TransactionCall | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { hash, from, to, input, ...more } = value as Readonly<Record<string, unknown>>;
  if (!isHex(hash)) return undefined;
  return {
    hash: hash.toLowerCase() as Hex,
    from: readAddress(from),
    to: readAddress(to) ?? null,
    input: isHex(input) ? input : '0x',
    accountNonce: readCount(more['nonce']),
    valueWei: readQuantity(more['value']) ?? 0n,
  };
}

function readAddress(value: unknown): Address | undefined {
  return typeof value === 'string' && isAddress(value, { strict: false })
    ? (value.toLowerCase() as Address)
    : undefined;
}
