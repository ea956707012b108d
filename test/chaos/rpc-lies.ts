import { randomBytes } from 'node:crypto';
import { numberToHex, toHex } from 'viem';

/** One field of one kind of answer that is wrong, as long as the node lies. */
export const LIES = [
  /** The signer has sent more than blocks hold. */
  'nonce',
  /** The final block is one that does not exist. */
  'finalized_number',
  /** The final block is another one at the same height. */
  'finalized_hash',
  /** The right final block, a day later. */
  'final_time',
  /** The right final block, two blocks higher. */
  'final_number',
  /** The right newest block, ten minutes old. */
  'head_time',
  /** The right newest block, with a base fee above every cap. */
  'head_base_fee',
  /** Blocks are not shown by their number. */
  'blocks_refused',
  /** A receipt is in the right block, some blocks lower. */
  'receipt_number',
  /** A transaction has used no gas to speak of. */
  'receipt_gas',
  /** The head is far ahead of every block there is. */
  'head',
  /** The head is a few blocks ahead, and each of them follows on the one before. */
  'head_leaps',
  /** What reverted succeeded, with the logs it would have had. */
  'receipt_success',
  /** What succeeded reverted. */
  'receipt_failure',
  /** No receipt is known. */
  'receipt_missing',
  /** Receipts are not served. */
  'receipts_refused',
  /** The least tip is above every cap. */
  'least_tip',
  /** The price of gas is far above what anybody pays. */
  'gas_price',
  /** The signer has no gas balance. */
  'balance',
  /** Logs are not served. */
  'logs_refused',
  /** Failed executions are described in the words of another client, without data. */
  'halts',
] as const;
/** The last is of slow blocks alone: the head leaps, and what reverted succeeded. */
export type Lie = (typeof LIES)[number] | 'success_ahead';

export interface RpcCall {
  readonly id: number;
  readonly method: string;
  readonly params: unknown[];
}

export interface RpcReply {
  readonly id: number;
  readonly jsonrpc: '2.0';
  result?: unknown;
  error?: unknown;
}

/** Logs that a transaction with this input would have left. */
export type Forger = (input: string) => readonly Json[];
type Json = Record<string, unknown>;
/** Asks the node itself. */
type AskNode = (method: string, params: unknown[]) => Promise<unknown>;

const FAR_AHEAD = 1000n;
const LEAP = 8n;
const NONCES_AHEAD = 3n;
/** 1000 gwei: the cap is 5. */
const ABSURD_PRICE_WEI = 10n ** 12n;
const DAY_SECONDS = 86_400n;
const OLD_SECONDS = 600n;
const BLOCKS_OFF = 2n;

interface LyingCall {
  readonly about: Lie;
  readonly call: RpcCall;
  /** What the node says of itself. */
  readonly reply: RpcReply;
}

/** What a lying node says instead. */
export async function tellLie(
  { about, call, reply }: LyingCall,
  node: AskNode,
  forge: Forger,
): Promise<RpcReply> {
  const said = (result: unknown): RpcReply => ({ id: reply.id, jsonrpc: '2.0', result });
  const refused = (code: number, message: string): RpcReply => ({
    id: reply.id,
    jsonrpc: '2.0',
    error: { code, message },
  });
  const { method } = call;
  const { result } = reply;
  switch (about) {
    case 'nonce':
      return method === 'eth_getTransactionCount' ? said(more(result, NONCES_AHEAD)) : reply;
    case 'finalized_number':
      return isBlock(call, 'finalized') && isObject(result) ? said(await nowhere(node)) : reply;
    case 'finalized_hash':
      return isBlock(call, 'finalized') && isObject(result)
        ? said({ ...result, hash: anyHash() })
        : reply;
    case 'final_time':
      return isBlock(call, 'finalized') && isObject(result)
        ? said({ ...result, timestamp: more(result['timestamp'], DAY_SECONDS) })
        : reply;
    case 'final_number':
      return isBlock(call, 'finalized') && isObject(result)
        ? said({ ...result, number: more(result['number'], BLOCKS_OFF) })
        : reply;
    case 'head_time':
      return isBlock(call, 'latest') && isObject(result)
        ? said({ ...result, timestamp: more(result['timestamp'], -OLD_SECONDS) })
        : reply;
    case 'head_base_fee':
      return isBlock(call, 'latest') && isObject(result)
        ? said({ ...result, baseFeePerGas: numberToHex(ABSURD_PRICE_WEI) })
        : reply;
    case 'blocks_refused':
      return method === 'eth_getBlockByNumber' && String(call.params[0]).startsWith('0x')
        ? refused(-32_005, 'limit exceeded')
        : reply;
    case 'receipt_number':
      return isReceipt(call, result)
        ? said({ ...result, blockNumber: more(result['blockNumber'], -BLOCKS_OFF) })
        : reply;
    case 'receipt_gas':
      return isReceipt(call, result) ? said({ ...result, gasUsed: '0x1' }) : reply;
    case 'head':
      if (method === 'eth_blockNumber') return said(more(result, FAR_AHEAD));
      return isBlock(call, 'latest') && isObject(result) ? said(await nowhere(node)) : reply;
    case 'head_leaps':
      return method === 'eth_getBlockByNumber' ? said(await leapt(call, result, node)) : reply;
    case 'success_ahead': {
      const part = method === 'eth_getBlockByNumber' ? 'head_leaps' : 'receipt_success';
      return tellLie({ about: part, call, reply }, node, forge);
    }
    case 'receipts_refused':
      return method === 'eth_getTransactionReceipt'
        ? refused(-32_000, 'transaction indexing is in progress')
        : reply;
    case 'receipt_success':
      return isReceipt(call, result) && result['status'] === '0x0'
        ? said(await promoted(result, node, forge))
        : reply;
    case 'receipt_failure':
      return isReceipt(call, result) ? said({ ...result, status: '0x0', logs: [] }) : reply;
    case 'receipt_missing':
      return isReceipt(call, result) ? said(null) : reply;
    case 'least_tip':
      return method === 'eth_sendRawTransaction'
        ? refused(
            -32_000,
            `transaction underpriced: gas tip cap 50000000, minimum needed ${ABSURD_PRICE_WEI}`,
          )
        : reply;
    case 'gas_price':
      return method === 'eth_gasPrice' || method === 'eth_maxPriorityFeePerGas'
        ? said(numberToHex(ABSURD_PRICE_WEI))
        : reply;
    case 'balance':
      return method === 'eth_getBalance' ? said('0x0') : reply;
    case 'logs_refused':
      return method === 'eth_getLogs' ? refused(-32_005, 'limit exceeded') : reply;
    case 'halts':
      return reply.error !== undefined && (method === 'eth_call' || method === 'eth_estimateGas')
        ? refused(-32_603, 'EVM error InvalidFEOpcode')
        : reply;
  }
}

/** A node that reverted pays nothing, whatever it says: these are the logs of what it should have done. */
async function promoted(receipt: Json, node: AskNode, forge: Forger): Promise<Json> {
  const transaction = await node('eth_getTransactionByHash', [receipt['transactionHash']]);
  const input = isObject(transaction) ? String(transaction['input']) : '';
  const { blockHash, blockNumber, transactionHash, transactionIndex } = receipt;
  const logs = forge(input).map((log, index) => ({
    ...log,
    blockHash,
    blockNumber,
    transactionHash,
    transactionIndex,
    logIndex: numberToHex(index),
    removed: false,
  }));
  return { ...receipt, status: '0x1', logs };
}

/** Blocks that are made up by their numbers, on top of the newest one there is. */
async function leapt(
  { params: [name] }: RpcCall,
  result: unknown,
  node: AskNode,
): Promise<unknown> {
  const head = await node('eth_getBlockByNumber', ['latest', false]);
  if (!isObject(head)) throw new Error('a node without a head');
  const newest = BigInt(String(head['number']));
  const number =
    name === 'latest' ? newest + LEAP : BigInt(String(name).startsWith('0x') ? String(name) : 0);
  if (number <= newest || number > newest + LEAP) return result;
  const madeUp = (at: bigint): string => numberToHex(2n ** 200n + at, { size: 32 });
  const parentHash = number === newest + 1n ? head['hash'] : madeUp(number - 1n);
  return { ...head, number: numberToHex(number), hash: madeUp(number), parentHash };
}

async function nowhere(node: AskNode): Promise<Json> {
  const head = await node('eth_getBlockByNumber', ['latest', false]);
  if (!isObject(head)) throw new Error('a node without a head');
  return { ...head, number: more(head['number'], FAR_AHEAD), hash: anyHash() };
}

const isBlock = ({ method, params }: RpcCall, tag: string): boolean =>
  method === 'eth_getBlockByNumber' && params[0] === tag;

const isReceipt = ({ method }: RpcCall, result: unknown): result is Json =>
  method === 'eth_getTransactionReceipt' && isObject(result);

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const anyHash = (): string => toHex(randomBytes(32));
const more = (quantity: unknown, by: bigint): string => numberToHex(BigInt(String(quantity)) + by);
