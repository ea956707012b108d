import type { Address, Hex } from 'viem';
import { addressWord, keccakOfText, uintWord } from './abi-words.js';

/** A log of a receipt, addresses and topics in lower case. */
export interface ReceiptLog {
  readonly address: Address;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly logIndex: number;
}

/** Event of ERC-20. */
export const TRANSFER_TOPIC = keccakOfText('Transfer(address,address,uint256)');
/** Event of EIP-3009. */
export const AUTHORIZATION_USED_TOPIC = keccakOfText('AuthorizationUsed(address,bytes32)');
export const AUTHORIZATION_CANCELED_TOPIC = keccakOfText('AuthorizationCanceled(address,bytes32)');
/** Event of the escrow of channels: `channelId`, `sender` (both indexed), `amount`, `newBalance`. */
export const DEPOSITED_TOPIC = keccakOfText('Deposited(bytes32,address,uint128,uint128)');

/** A transfer of tokens as a log shows it. */
export interface Transfer {
  readonly asset: Address;
  readonly payer: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
}

/** Whether a log is the ERC-20 event of exactly this transfer. */
export function isTransferLog(
  { address, topics, data }: ReceiptLog,
  { asset, payer, payTo, amount }: Transfer,
): boolean {
  return (
    address === asset &&
    topics[0] === TRANSFER_TOPIC &&
    topics[1] === `0x${addressWord(payer)}` &&
    topics[2] === `0x${addressWord(payTo)}` &&
    data === `0x${uintWord(amount)}`
  );
}

/** A log by which a contract reports received money. The first word of its data is the amount. */
export interface PaidLog {
  readonly address: Address;
  readonly topics: readonly Hex[];
}

export function isPaidLog(
  { address, topics, data }: ReceiptLog,
  wanted: PaidLog,
  amount: bigint,
): boolean {
  return (
    address === wanted.address &&
    wanted.topics.every((topic, place) => topics[place] === topic) &&
    data.slice(0, 66) === `0x${uintWord(amount)}`
  );
}

/** The first log of exactly this transfer that was not credited to another settlement. */
export function transferIn(
  transfer: Transfer,
  logs: readonly ReceiptLog[],
  taken: ReadonlySet<number>,
): ReceiptLog | undefined {
  return logs.find((log) => !taken.has(log.logIndex) && isTransferLog(log, transfer));
}
