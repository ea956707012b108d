import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import {
  anAcceptedPayment,
  anEip3009Authorization,
  aPermit2Authorization,
} from '../../../test/builders/protocol/payment/accepted-payment.js';
import { addressWord, uintWord } from '../evm/abi-words.js';
import type { Eip3009Authorization } from '../evm/authorization.js';
import { AUTHORIZATION_USED_TOPIC, type ReceiptLog, TRANSFER_TOPIC } from '../evm/logs.js';
import type { AcceptedPayment } from '../payment/accepted-payment.js';
import { creditLogs } from './credit.js';

const topic = (address: Hex): Hex => `0x${addressWord(address)}`;

function transferLog(
  payment: AcceptedPayment,
  logIndex: number,
  amount = payment.amount,
): ReceiptLog {
  const { asset, authorization, payTo } = payment;
  return {
    address: asset,
    topics: [TRANSFER_TOPIC, topic(authorization.from), topic(payTo)],
    data: `0x${uintWord(amount)}`,
    logIndex,
  };
}

function usedLog(payment: AcceptedPayment, logIndex: number): ReceiptLog {
  const { asset, authorization } = payment;
  const { nonce } = authorization as Eip3009Authorization;
  return {
    address: asset,
    topics: [AUTHORIZATION_USED_TOPIC, topic(authorization.from), nonce],
    data: '0x',
    logIndex,
  };
}

const eip3009 = anAcceptedPayment();
const permit2 = anAcceptedPayment({ authorization: aPermit2Authorization() });

describe('creditLogs', () => {
  it('credits an EIP-3009 payment with its transfer', () => {
    const logs = [usedLog(eip3009, 4), transferLog(eip3009, 5)];
    expect([...creditLogs([{ id: 'a', payment: eip3009 }], logs)]).toEqual([['a', 5]]);
  });

  it('does not credit a transfer without the event of the authorization', () => {
    expect(creditLogs([{ id: 'a', payment: eip3009 }], [transferLog(eip3009, 5)]).size).toBe(0);
  });

  it('does not credit the event of another nonce', () => {
    const other = anAcceptedPayment({
      authorization: anEip3009Authorization({ nonce: `0x${'00'.repeat(32)}` }),
    });
    const logs = [usedLog(other, 1), transferLog(eip3009, 2)];
    expect(creditLogs([{ id: 'a', payment: eip3009 }], logs).size).toBe(0);
  });

  it.each<[string, (log: ReceiptLog) => ReceiptLog]>([
    ['of another amount', (log: ReceiptLog) => ({ ...log, data: `0x${uintWord(999n)}` })],
    ['of another token', (log: ReceiptLog) => ({ ...log, address: `0x${'99'.repeat(20)}` })],
    [
      'to another payee',
      (log: ReceiptLog) => ({
        ...log,
        topics: [...log.topics.slice(0, 2), topic(`0x${'98'.repeat(20)}`)],
      }),
    ],
  ])('does not credit a transfer %s', (_, change) => {
    const logs = [usedLog(eip3009, 1), change(transferLog(eip3009, 2))];
    expect(creditLogs([{ id: 'a', payment: eip3009 }], logs).size).toBe(0);
  });

  it('credits one log to one settlement only, and the named authorization first', () => {
    const items = [
      { id: 'permit2', payment: permit2 },
      { id: 'eip3009', payment: eip3009 },
    ];
    const logs = [usedLog(eip3009, 1), transferLog(eip3009, 2)];
    expect([...creditLogs(items, logs)]).toEqual([['eip3009', 2]]);
    expect([...creditLogs(items, [...logs, transferLog(permit2, 3)])]).toEqual([
      ['eip3009', 2],
      ['permit2', 3],
    ]);
  });
});
