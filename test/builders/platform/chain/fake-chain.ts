import type { Hex } from 'viem';
import { EvmChain, type EvmChainParts } from '../../../../src/platform/chain/evm-chain.js';
import type { RpcCaller } from '../../../../src/platform/chain/rpc/rpc-caller.js';
import type { RpcOutcome } from '../../../../src/platform/chain/rpc/rpc-outcome.js';
import type { NetworkConfig } from '../../../../src/platform/config/app-config.js';
import { Secret } from '../../../../src/platform/config/secret.js';
import { addressWord, uintWord } from '../../../../src/protocol/evm/abi-words.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../../../../src/protocol/evm/contracts.js';
import { AUTHORIZATION_USED_TOPIC, TRANSFER_TOPIC } from '../../../../src/protocol/evm/logs.js';
import type { AuthorizationRef } from '../../../../src/protocol/schemes/authorization-method.js';

/** Chains in memory for tests: all nodes share one history, and each node may lie about it. */

export interface FakeTransaction {
  readonly hash: Hex;
  readonly to: Hex;
  readonly input: Hex;
  readonly isSuccess?: boolean;
  readonly logs?: readonly FakeLog[];
  readonly from?: Hex;
  readonly nonce?: number;
  readonly value?: bigint;
}

interface FakeLog {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
}

const hex = (value: bigint | number): Hex => `0x${value.toString(16)}`;
export const hash32 = (value: bigint | number): Hex => `0x${value.toString(16).padStart(64, '0')}`;

/** What really happened. */
export class FakeChain {
  readonly blocks: FakeTransaction[][] = [];
  finalDepth = 2;
  /** Account nonces used, by block number. */
  nonces = (block: number): number => block;
  /** Wei, by block number. */
  balance: (block: number) => bigint = () => 1000n;
  gasPrice = 100n;
  baseFeePerGas = 10n;
  /** Result words of calls, by block number. */
  call: (block: number) => Hex = () => hash32(0);
  /** Unix seconds, by block number. */
  timestamp: (block: number) => number = () => Math.floor(Date.now() / 1000);

  constructor(blocks: number) {
    for (let count = 0; count < blocks; count += 1) this.blocks.push([]);
  }

  get head(): number {
    return this.blocks.length - 1;
  }

  mine(...transactions: FakeTransaction[]): number {
    this.blocks.push(transactions);
    return this.head;
  }

  blockHash(number: number): Hex {
    return hash32(BigInt(number) + 2n ** 128n);
  }

  header(number: number, isFull = false): unknown {
    const transactions = this.blocks[number];
    if (transactions === undefined) return null;
    return {
      number: hex(number),
      hash: this.blockHash(number),
      parentHash: this.blockHash(number - 1),
      timestamp: hex(this.timestamp(number)),
      gasLimit: hex(30_000_000),
      baseFeePerGas: hex(this.baseFeePerGas),
      transactions: isFull ? transactions.map(fieldsOf) : transactions.map(({ hash }) => hash),
    };
  }

  receipt(hash: unknown): unknown {
    for (const [number, transactions] of this.blocks.entries()) {
      const found = transactions.find((one) => one.hash === hash);
      if (found !== undefined) return this.#receiptOf(found, number);
    }
    return null;
  }

  receipts(number: number): unknown {
    return this.blocks[number]?.map((one) => this.#receiptOf(one, number)) ?? null;
  }

  transaction(hash: unknown): unknown {
    const found = this.blocks.flat().find((one) => one.hash === hash);
    return found === undefined ? null : fieldsOf(found);
  }

  logs(from: number, to: number, topics: readonly unknown[]): unknown {
    const fits = (log: FakeLog): boolean =>
      topics.every((wanted, place) => {
        const topic = log.topics[place];
        if (wanted === null) return true;
        return Array.isArray(wanted) ? wanted.includes(topic) : wanted === topic;
      });
    return this.blocks
      .slice(from, to + 1)
      .flatMap((transactions, step) =>
        transactions.flatMap((one) => this.#logsOf(one, from + step).filter(fits)),
      );
  }

  #receiptOf(one: FakeTransaction, number: number): unknown {
    return {
      transactionHash: one.hash,
      status: one.isSuccess === false ? '0x0' : '0x1',
      blockNumber: hex(number),
      blockHash: this.blockHash(number),
      gasUsed: hex(50_000),
      effectiveGasPrice: hex(1),
      logs: this.#logsOf(one, number),
    };
  }

  #logsOf({ hash, logs = [] }: FakeTransaction, number: number): (FakeLog & object)[] {
    return logs.map((log, index) => ({
      ...log,
      logIndex: hex(index),
      transactionHash: hash,
      blockNumber: hex(number),
    }));
  }
}

function fieldsOf({ hash, to, input, from, nonce, value }: FakeTransaction): unknown {
  return {
    hash,
    to,
    input,
    from: from ?? hash32(9).slice(0, 42),
    ...(nonce !== undefined && { nonce: hex(nonce) }),
    value: hex(value ?? 0n),
  };
}

type Params = readonly unknown[];
/** `undefined` tells the truth. */
type Lie = (method: string, params: Params) => RpcOutcome | undefined;

/** One endpoint of a chain in memory. */
export class FakeNode implements RpcCaller {
  readonly acceptsBatches = true;
  readonly asked: string[] = [];
  /** Blocks it is behind. */
  lag = 0;
  lie: Lie = () => undefined;

  constructor(
    private readonly chain: FakeChain,
    readonly name: string,
  ) {}

  retryBatches(): void {
    // Batches are always taken.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async request(method: string, params: Params): Promise<RpcOutcome> {
    this.asked.push(method);
    await Promise.resolve();
    return this.lie(method, params) ?? this.#truth(method, params);
  }

  get head(): number {
    return this.chain.head - this.lag;
  }

  #truth(method: string, params: Params): RpcOutcome {
    switch (method) {
      case 'eth_chainId':
        return result(hex(56));
      case 'eth_blockNumber':
        return result(hex(this.head));
      case 'eth_getBlockByNumber':
        return result(this.#block(String(params[0]), params[1] === true));
      case 'eth_getBlockReceipts':
        return result(this.chain.receipts(Number(params[0])));
      case 'eth_getTransactionReceipt':
        return result(this.#seen(this.chain.receipt(params[0])));
      case 'eth_getTransactionByHash':
        return result(this.chain.transaction(params[0]));
      case 'eth_getTransactionCount':
        return this.#at(params[1], (block) => hex(this.chain.nonces(block)));
      case 'eth_getBalance':
        return this.#at(params[1], (block) => hex(this.chain.balance(block)));
      case 'eth_gasPrice':
        return result(hex(this.chain.gasPrice));
      case 'eth_call':
        return this.#at(params[1], (block) => this.chain.call(block));
      case 'eth_getLogs': {
        const { fromBlock, toBlock, topics } = params[0] as {
          fromBlock: string;
          toBlock: string;
          topics?: readonly unknown[];
        };
        const to = Math.min(this.head, this.#number(toBlock));
        return result(this.chain.logs(this.#number(fromBlock), to, topics ?? []));
      }
      case 'eth_getCode':
        return result('0x00');
      case 'eth_maxPriorityFeePerGas':
        return result(hex(50_000_000));
      default:
        return failure();
    }
  }

  #number(name: string): number {
    if (name === 'latest' || name === 'pending') return this.head;
    if (name === 'finalized') return Math.max(0, this.head - this.chain.finalDepth);
    return Number(name);
  }

  #block(name: string, isFull: boolean): unknown {
    const number = this.#number(name);
    return number > this.head ? null : this.chain.header(number, isFull);
  }

  #seen(receipt: unknown): unknown {
    const at = (receipt as { blockNumber?: string } | null)?.blockNumber;
    return at !== undefined && Number(at) > this.head ? null : receipt;
  }

  #at(point: unknown, read: (block: number) => Hex): RpcOutcome {
    const hash = (point as { blockHash?: Hex }).blockHash;
    const number =
      hash === undefined ? this.#number(String(point)) : Number(BigInt(hash) - 2n ** 128n);
    return number > this.head || number < 0 ? failure('header not found') : result(read(number));
  }
}

export function result(value: unknown): RpcOutcome {
  return { kind: 'result', value };
}

export function failure(message = 'no', code = -32_000): RpcOutcome {
  return { kind: 'error', error: { code, message, data: undefined } };
}

export const SILENT: RpcOutcome = { kind: 'silent', cause: 'timeout' };

/**
 * A chain with so many nodes, probed once.
 *
 * @param prepare - what a node is like before anything is asked of it.
 */
export async function aChain(
  truth: FakeChain,
  nodes: number,
  parts: EvmChainParts = {},
  prepare: (node: FakeNode, index: number) => void = () => undefined,
): Promise<{ readonly chain: EvmChain; readonly nodes: readonly FakeNode[] }> {
  const made: FakeNode[] = [];
  const config: NetworkConfig = {
    chainId: 56,
    network: 'eip155:56',
    rpcUrls: Array.from({ length: nodes }, () => new Secret('http://127.0.0.1')),
    usesPublicEndpoints: false,
    signerKeys: [],
    schemeContracts: DEFAULT_SCHEME_CONTRACTS,
    maxGasPriceWei: 5_000_000_000n,
    dailyGasBudgetWei: undefined,
    dailyPayeeGasBudgetWei: undefined,
    knownTokens: [],
  };
  const connect = (name: string): FakeNode => {
    const node = new FakeNode(truth, name);
    prepare(node, made.length);
    made.push(node);
    return node;
  };
  const chain = new EvmChain(config, { ...parts, connect });
  await chain.probe();
  return { chain, nodes: made };
}

/** The logs of an EIP-3009 payment. */
export function paymentLogs(ref: AuthorizationRef): readonly FakeLog[] {
  const { asset, payer, nonce } = ref;
  return [
    {
      address: asset,
      topics: [AUTHORIZATION_USED_TOPIC, `0x${addressWord(payer)}`, `0x${uintWord(nonce)}`],
      data: '0x',
    },
    transferLog(ref),
  ];
}

export function transferLog({ asset, payer, payTo, amount }: AuthorizationRef): FakeLog {
  return {
    address: asset,
    topics: [
      TRANSFER_TOPIC,
      `0x${addressWord(payer)}`,
      `0x${addressWord(payTo ?? '0x0000000000000000000000000000000000000000')}`,
    ],
    data: `0x${uintWord(amount ?? 0n)}`,
  };
}
