import type { Address, Hex } from 'viem';
import type {
  RecordedSettlement,
  SeenTransaction,
} from '../../../../src/history/reconciliation/records.js';
import { addressWord, uintWord } from '../../../../src/protocol/evm/abi-words.js';
import {
  AUTHORIZATION_USED_TOPIC,
  type ReceiptLog,
  TRANSFER_TOPIC,
} from '../../../../src/protocol/evm/logs.js';
import { hashOf } from '../../../../src/protocol/payment/hash.js';

/** A payment that was settled well, as the books and the chain have it. */

export const addressOf = (digit: string): Address => `0x${digit.repeat(40)}`;
export const hashNamed = (digit: string): Hex => `0x${digit.repeat(64)}`;
export const ASSET = addressOf('a');
export const PAYER = addressOf('b');
export const PAYEE = addressOf('c');
export const LANE = addressOf('d');
export const STRANGER = addressOf('e');

export function aRecordedPayment(more: Partial<RecordedSettlement> = {}): RecordedSettlement {
  return {
    id: hashOf(['settlement', 'a']),
    state: 'finalized',
    isPaid: true,
    transaction: hashNamed('1'),
    blockNumber: 7n,
    blockHash: hashNamed('7'),
    logIndex: 1,
    method: 'eip3009',
    asset: ASSET,
    payer: PAYER,
    payTo: PAYEE,
    amount: 1000n,
    nonce: 5n,
    transactions: [hashNamed('1')],
    ...more,
  };
}

export function aSeen(more: Partial<SeenTransaction> = {}): SeenTransaction {
  return {
    hash: hashNamed('1'),
    from: LANE,
    to: ASSET,
    nonce: 3,
    isSuccess: true,
    blockNumber: 7n,
    blockHash: hashNamed('7'),
    feeWei: 100n,
    valueWei: 0n,
    logs: [aUse(0), aTransfer(1)],
    ...more,
  };
}

export function aTransfer(
  logIndex: number,
  more: { asset?: Address; payer?: Address; payTo?: Address; amount?: bigint } = {},
): ReceiptLog {
  const { asset = ASSET, payer = PAYER, payTo = PAYEE, amount = 1000n } = more;
  return {
    address: asset,
    topics: [TRANSFER_TOPIC, `0x${addressWord(payer)}`, `0x${addressWord(payTo)}`],
    data: `0x${uintWord(amount)}`,
    logIndex,
  };
}

export function aUse(
  logIndex: number,
  more: { asset?: Address; payer?: Address; nonce?: bigint } = {},
): ReceiptLog {
  const { asset = ASSET, payer = PAYER, nonce = 5n } = more;
  return {
    address: asset,
    topics: [AUTHORIZATION_USED_TOPIC, `0x${addressWord(payer)}`, `0x${uintWord(nonce)}`],
    data: '0x',
    logIndex,
  };
}
