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
import { movedBy } from './moved.js';

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
const transfer = (amount = 10n, payTo: Address = PAYEE): ReceiptLog => ({
  address: TOKEN,
  data: `0x${uintWord(amount)}`,
  logIndex: 1,
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
