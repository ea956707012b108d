import { type Hex, isHex } from 'viem';
import type { ReceiptLog } from '../../protocol/evm/logs.js';
import { readCount, readQuantity } from './block.js';

/** The receipt of a mined transaction, as a node sends it. */
export interface Receipt {
  readonly hash: Hex;
  readonly isSuccess: boolean;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly gasUsed: bigint;
  /** Wei. */
  readonly effectiveGasPrice: bigint;
  /** Wei that a rollup charges for data, besides the gas; 0 elsewhere. */
  readonly dataFeeWei: bigint;
  readonly logs: readonly ReceiptLog[];
}

type Fields = Readonly<Record<string, unknown>>;

/** `undefined` for `null` (not mined, as far as this node knows) and for anything malformed. */
export function readReceipt(value: unknown): Receipt | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { transactionHash, status, blockNumber, blockHash, logs, ...fees } = value as Fields;
  const number = readQuantity(blockNumber);
  if (!isHex(transactionHash) || !isHex(blockHash) || number === undefined) return undefined;
  if (status !== '0x1' && status !== '0x0') return undefined;
  const read = readLogs(logs);
  if (read === undefined) return undefined;
  return {
    hash: lowerCase(transactionHash),
    isSuccess: status === '0x1',
    blockNumber: number,
    blockHash: lowerCase(blockHash),
    gasUsed: readQuantity(fees['gasUsed']) ?? 0n,
    effectiveGasPrice: readQuantity(fees['effectiveGasPrice']) ?? 0n,
    dataFeeWei: readQuantity(fees['l1Fee']) ?? 0n,
    logs: read,
  };
}

export interface FoundLog extends ReceiptLog {
  readonly transactionHash: Hex;
  readonly blockNumber: bigint;
}

/** `undefined` for a value that is not a list, which differs from an empty one. */
export function readLogs(value: unknown): readonly FoundLog[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return (value as unknown[]).flatMap((item) => {
    if (typeof item !== 'object' || item === null) return [];
    const { address, topics, data, logIndex, transactionHash, blockNumber, removed } =
      item as Fields;
    const index = readCount(logIndex);
    if (!isHex(address) || !isHex(data) || !Array.isArray(topics) || index === undefined) return [];
    if (removed === true) return [];
    return [
      {
        address: lowerCase(address),
        topics: (topics as unknown[]).filter((topic) => isHex(topic)).map(lowerCase),
        data: lowerCase(data),
        logIndex: index,
        transactionHash: isHex(transactionHash) ? lowerCase(transactionHash) : '0x',
        blockNumber: readQuantity(blockNumber) ?? 0n,
      },
    ];
  });
}

function lowerCase(hex: Hex): Hex {
  return hex.toLowerCase() as Hex;
}
