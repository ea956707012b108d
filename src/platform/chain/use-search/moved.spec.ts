import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { addressWord, uintWord } from '../../../protocol/evm/abi-words.js';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  type ReceiptLog,
  TRANSFER_TOPIC,
} from '../../../protocol/evm/logs.js';
import type { AuthorizationRef } from '../../../protocol/schemes/authorization-method.js';
import type { Receipt } from '../receipt.js';
import { movedBy, paidLogsOf } from './moved.js';

const TOKEN: Address = `0x${'11'.repeat(20)}`;
const PAYER: Address = `0x${'22'.repeat(20)}`;
const PAYEE: Address = `0x${'33'.repeat(20)}`;
const REF: AuthorizationRef = {
  method: 'eip3009',
  asset: TOKEN,
  payer: PAYER,
  nonce: 7n,
  payTo: PAYEE,
  amount: 10n,
};

const used = (topic = AUTHORIZATION_USED_TOPIC, nonce = 7n): ReceiptLog => ({
  address: TOKEN,
  data: '0x',
  logIndex: 0,
  topics: [topic, `0x${addressWord(PAYER)}`, `0x${uintWord(nonce)}`],
});
const transfer = (amount = 10n, payTo: Address = PAYEE, logIndex = 1): ReceiptLog => ({
  address: TOKEN,
  data: `0x${uintWord(amount)}`,
  logIndex,
  topics: [TRANSFER_TOPIC, `0x${addressWord(PAYER)}`, `0x${addressWord(payTo)}`],
});

describe('what a transaction moved that presented an authorization by a contract of its own', () => {
  const moved = (...logs: ReceiptLog[]) => movedBy(REF, { logs }, []);

  it('is what the payer signed for, where the token names the authorization as executed', () => {
    expect(moved(used(), transfer())).toEqual({ payTo: PAYEE, amount: 10n, logIndex: 1 });
  });

  it.each<[string, ReceiptLog[]]>([
    ['it was cancelled', [used(AUTHORIZATION_CANCELED_TOPIC), transfer()]],
    ['another one was executed', [used(undefined, 8n), transfer()]],
    ['nothing was transferred', [used()]],
    ['less was transferred', [used(), transfer(9n)]],
    ['another address was paid', [used(), transfer(10n, TOKEN)]],
  ])('is not known to be that where %s', (_, logs) => {
    expect(moved(...logs)).toBeUndefined();
  });

  it('is not known by Permit2, which names nothing', () => {
    const logs = [transfer()];
    expect(movedBy({ ...REF, method: 'permit2' }, { logs }, [])).toBeUndefined();
  });

  it('is not known where the signed amount is not', () => {
    const { method, asset, payer, nonce } = REF;
    const ref = { method, asset, payer, nonce };
    expect(movedBy(ref, { logs: [used(), transfer()] }, [])).toBeUndefined();
  });
});

describe('the log by which a transaction paid an authorization that its calldata presents', () => {
  const { method, asset: token, payer: from, nonce, payTo: to = TOKEN, amount = 0n } = REF;
  const presented = [{ method, token, from, nonce, to, amount }] as const;
  const receipt = (...logs: ReceiptLog[]): Receipt => ({
    hash: `0x${'aa'.repeat(32)}`,
    blockNumber: 1n,
    blockHash: `0x${'bb'.repeat(32)}`,
    isSuccess: true,
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    dataFeeWei: 0n,
    logs,
  });

  it('is the transfer, where the token names the authorization as executed', () => {
    expect(paidLogsOf(REF, receipt(used(), transfer()), presented)).toEqual([1]);
  });

  it.each<[string, ReceiptLog[]]>([
    ['it was cancelled', [used(AUTHORIZATION_CANCELED_TOPIC), transfer()]],
    ['an equal one was executed', [used(undefined, 8n), transfer()]],
  ])('is missing where %s: an equal payment shows an equal transfer', (_, logs) => {
    expect(paidLogsOf(REF, receipt(...logs), presented)).toEqual([]);
  });

  it('is its own of two, where an equal one before them was presented in vain', () => {
    const [own] = presented;
    const alike = [6n, 7n, 9n].map((one) => ({ ...own, nonce: one }));
    const logs = [used(), transfer(), used(undefined, 9n), transfer(10n, PAYEE, 3)];
    const paid = [7n, 9n].map((one) => paidLogsOf({ ...REF, nonce: one }, receipt(...logs), alike));
    expect(paid).toEqual([[1], [3]]);
  });

  it('is the transfer by Permit2, which names nothing', () => {
    const ref: AuthorizationRef = { ...REF, method: 'permit2' };
    const own = [{ method: 'permit2', token, from, nonce, to, amount }] as const;
    expect(paidLogsOf(ref, receipt(transfer()), own)).toEqual([1]);
  });
});
