import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import {
  addressOf,
  aRecordedPayment,
  aSeen,
  ASSET,
  aTransfer,
  aUse,
  hashNamed,
  LANE,
  PAYEE,
  PAYER,
  STRANGER,
} from '../../../test/builders/history/reconciliation/records.js';
import { uintWord } from '../../protocol/evm/abi-words.js';
import { DEPOSITED_TOPIC, type ReceiptLog } from '../../protocol/evm/logs.js';
import { compareTransaction } from './compare-transaction.js';
import type { ReadTransaction, RecordedSettlement, SeenTransaction } from './records.js';

const seen = (more: Partial<SeenTransaction> = {}): ReadTransaction => ({
  kind: 'seen',
  transaction: aSeen(more),
});
const compare = (result: ReadTransaction, ...settlements: readonly RecordedSettlement[]) =>
  compareTransaction({ hash: hashNamed('1'), result, settlements }, new Set([LANE]));
const names = (result: ReadTransaction, ...settlements: readonly RecordedSettlement[]) =>
  compare(result, ...settlements).map(({ name }) => name);

const OTHER = { payer: addressOf('9'), nonce: 6n };
const permit2 = { method: 'permit2' } as const;
const failed = { isPaid: false, state: 'expired' } as const;
/** What the ledger made again from the chain, after a loss. */
const UNKNOWN = {
  method: undefined,
  asset: undefined,
  payer: undefined,
  payTo: undefined,
  amount: undefined,
  nonce: undefined,
  transactions: [],
} as const;

describe('a transaction beside the settlements that name it', () => {
  it('has nothing to say of those that are right', () => {
    expect(compare(seen(), aRecordedPayment())).toEqual([]);
    expect(compare(seen({ logs: [aTransfer(1)] }), aRecordedPayment(permit2))).toEqual([]);
    expect(compare(seen(), aRecordedPayment(UNKNOWN))).toEqual([]);
    expect(compare(seen(), aRecordedPayment({ ...UNKNOWN, logIndex: undefined }))).toEqual([]);
    expect(compare(seen(), aRecordedPayment({ logIndex: undefined }))).toEqual([]);
    expect(compare(seen({ from: STRANGER }), aRecordedPayment({ state: 'foreign' }))).toEqual([]);
    expect(compare(seen({ isSuccess: false, logs: [] }), aRecordedPayment(failed))).toEqual([]);
    expect(compare({ kind: 'absent', isProven: false }, aRecordedPayment(failed))).toEqual([]);
  });

  it('has nothing to say of a batch that is right, of twins neither', () => {
    const logs = [aUse(0), aTransfer(1), aUse(2, OTHER), aTransfer(3, OTHER)];
    const other = aRecordedPayment({ id: 'other', logIndex: 3, ...OTHER });
    expect(compare(seen({ logs }), aRecordedPayment(), other)).toEqual([]);
    expect(compare(seen({ logs }), other, aRecordedPayment())).toEqual([]);
    const twins = [aTransfer(1), aTransfer(2)];
    const [one, two] = [
      aRecordedPayment(permit2),
      aRecordedPayment({ ...permit2, id: 'two', logIndex: 2 }),
    ];
    expect(compare(seen({ logs: twins }), two, one)).toEqual([]);
  });

  it.each<[string, Partial<RecordedSettlement>]>([
    ['amount_differs', { amount: 999n }],
    ['payee_differs', { payTo: STRANGER }],
    ['payer_differs', { payer: STRANGER }],
    ['asset_differs', { asset: STRANGER }],
    ['authorization_differs', { nonce: 6n }],
    ['log_index_differs', { logIndex: 0 }],
    ['block_differs', { blockNumber: 8n }],
    ['block_differs', { blockHash: hashNamed('8') }],
  ])('names %s once for a row with %j', (name, wrong) => {
    expect(names(seen(), aRecordedPayment(wrong))).toEqual([name]);
  });

  it('names both sides of a difference', () => {
    expect(compare(seen(), aRecordedPayment({ amount: 999n }))).toEqual([
      {
        name: 'amount_differs',
        settlementId: aRecordedPayment().id,
        transaction: hashNamed('1'),
        blockNumber: 7n,
        logIndex: 1,
        expected: '999',
        found: '1000',
      },
    ]);
  });

  it('names everything that is wrong with one row', () => {
    const wrong = aRecordedPayment({ amount: 999n, payTo: STRANGER, blockNumber: 1n, nonce: 9n });
    const found = ['payee_differs', 'amount_differs', 'block_differs', 'authorization_differs'];
    expect(names(seen(), wrong)).toEqual(found);
  });

  it.each<[string, ReadTransaction]>([
    ['is nowhere', { kind: 'absent', isProven: true }],
    ['failed', seen({ isSuccess: false, logs: [] })],
    ['moved nothing', seen({ logs: [] })],
  ])('names a settlement whose transaction %s', (_, result) => {
    expect(names(result, aRecordedPayment())).toEqual(['settled_without_log']);
  });

  it.each<[string, ReadTransaction, RecordedSettlement]>([
    ['that could not be read', { kind: 'unread' }, aRecordedPayment()],
    ['that could not be read, of a failure', { kind: 'unread' }, aRecordedPayment(failed)],
    [
      'that is not known and need not be gone',
      { kind: 'absent', isProven: false },
      aRecordedPayment(),
    ],
  ])('is not checked where it is one %s', (_, result, row) => {
    expect(names(result, row)).toEqual(['not_checked']);
  });

  it('gives one log to one settlement', () => {
    const twice = aRecordedPayment({ id: 'twice' });
    expect(compare(seen(), aRecordedPayment(), twice)).toMatchObject([
      { name: 'log_credited_twice', settlementId: 'twice', logIndex: 1 },
    ]);
    const extra = aRecordedPayment({ id: 'extra', amount: 1n });
    expect(compare(seen(), extra, aRecordedPayment())).toMatchObject([
      { name: 'settled_without_log', settlementId: 'extra' },
    ]);
  });

  it('lets a wrong row take no log of a right one', () => {
    const logs = [aUse(0), aTransfer(1), aUse(2, OTHER), aTransfer(3, OTHER)];
    const wrong = aRecordedPayment({ id: 'wrong', logIndex: 1, ...OTHER, amount: 2n });
    expect(compare(seen({ logs }), wrong, aRecordedPayment())).toMatchObject([
      { name: 'amount_differs', settlementId: 'wrong', logIndex: 3 },
    ]);
  });

  it('names transfers of a lane without a settlement, once for each payment', () => {
    expect(compare(seen())).toMatchObject([
      { name: 'log_without_settlement', lane: LANE, logIndex: 1, transaction: hashNamed('1') },
    ]);
    const found = `1000 of ${ASSET} from ${PAYER} to ${PAYEE}`;
    expect(compare(seen())[0]?.found).toBe(found);
    const logs = [aUse(0), aTransfer(1), aUse(2, OTHER), aTransfer(3, OTHER)];
    expect(compare(seen({ logs }), aRecordedPayment())).toMatchObject([
      { name: 'log_without_settlement', logIndex: 3 },
    ]);
    // A cancelled or moved authorization without its transfer.
    expect(compare(seen({ logs: [aUse(0)] }))).toMatchObject([{ logIndex: 0, found: ASSET }]);
  });

  it('leaves what strangers move alone', () => {
    expect(compare(seen({ from: STRANGER }))).toEqual([]);
  });

  it('names a transaction of a stranger that the books call ours', () => {
    expect(compare(seen({ from: STRANGER }), aRecordedPayment())).toMatchObject([
      { name: 'sender_differs', found: STRANGER },
    ]);
  });

  it.each(['expired', 'reverted', 'withdrawn', 'broadcast', 'foreign'])(
    'names a settlement that is %s by the books and paid by the chain',
    (state) => {
      expect(compare(seen(), aRecordedPayment({ isPaid: false, state }))).toMatchObject([
        { name: 'state_differs', expected: state, found: 'paid', logIndex: 1 },
      ]);
    },
  );

  it('leaves a failure alone that a stranger has paid elsewhere', () => {
    const used = aRecordedPayment({ isPaid: false, state: 'foreign' });
    expect(compare(seen({ from: STRANGER }), used)).toEqual([]);
  });

  it('does not take the payment of another authorization for that of a failed one', () => {
    const other = aRecordedPayment({ ...failed, id: 'failed', nonce: 77n });
    expect(compare(seen(), aRecordedPayment(), other)).toEqual([]);
    const replaced = aRecordedPayment({ id: 'elsewhere', transaction: hashNamed('2') });
    expect(names(seen(), replaced)).toEqual(['log_without_settlement']);
  });

  it('reads a transfer only out of a transfer log', () => {
    const strange = [
      { ...aTransfer(1), data: '0x' } as const,
      { ...aTransfer(2), topics: [...aTransfer(2).topics, hashNamed('0')] },
    ];
    expect(names(seen({ logs: strange }), aRecordedPayment(permit2))).toEqual([
      'settled_without_log',
      'log_without_settlement',
      'log_without_settlement',
    ]);
  });
});

describe('a transaction of channels beside the settlements that name it', () => {
  const COLLECTOR: Address = '0x4020806089470a89826cb9fb1f4059150b550004';
  const ESCROW: Address = '0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003';
  const channels = { scheme: 'batch-settlement' } as const;
  const deposit = aRecordedPayment({ ...channels, logIndex: 3 });
  const deposited = (logIndex: number, amount = 1000n): ReceiptLog => ({
    address: ESCROW,
    topics: [DEPOSITED_TOPIC, hashNamed('2'), hashNamed('3')],
    data: `0x${uintWord(amount)}${uintWord(5000n)}`,
    logIndex,
  });
  const paidIn = [
    aUse(0),
    aTransfer(1, { payTo: COLLECTOR }),
    aTransfer(2, { payer: COLLECTOR, payTo: ESCROW }),
    deposited(3),
  ];

  it('has nothing to say of deposits that are right', () => {
    expect(compare(seen({ logs: paidIn }), deposit)).toEqual([]);
    const byPermit2 = aRecordedPayment({ ...channels, ...permit2 });
    const permitted = [aTransfer(0, { payTo: ESCROW }), deposited(1)];
    expect(compare(seen({ logs: permitted }), byPermit2)).toEqual([]);
  });

  it('names a deposit that the logs do not show, and a block that differs', () => {
    expect(names(seen({ logs: [] }), deposit)).toEqual(['settled_without_log']);
    const twice = aRecordedPayment({ ...channels, id: 'two' });
    expect(names(seen({ logs: paidIn }), deposit, twice)).toEqual(['settled_without_log']);
    const elsewhere = aRecordedPayment({ ...channels, logIndex: 3, blockNumber: 8n });
    expect(names(seen({ logs: paidIn }), elsewhere)).toEqual(['block_differs']);
    const money = [aUse(0, { nonce: 9n }), ...paidIn.slice(1)];
    expect(names(seen({ logs: money }), deposit)).toEqual(['log_without_settlement']);
  });

  it('names one that no event of the escrow shows as the books have it', () => {
    const money = paidIn.slice(0, 3);
    const withEvent = (event: ReceiptLog) => names(seen({ logs: [...money, event] }), deposit);
    for (const event of [
      deposited(4),
      deposited(3, 999n),
      { ...deposited(3), address: COLLECTOR },
      { ...deposited(3), topics: [] },
    ]) {
      expect(withEvent(event)).toEqual(['settled_without_log']);
    }
    expect(withEvent(deposited(3))).toEqual([]);
    const unknown = aRecordedPayment({ ...channels, logIndex: undefined });
    expect(names(seen({ logs: paidIn }), unknown)).toEqual([]);
    expect(names(seen({ logs: money }), unknown)).toEqual(['settled_without_log']);
  });

  it('takes what the escrow moved for a payout, a refund or a claim', () => {
    for (const method of ['channel-claim', 'channel-settle', 'channel-refund']) {
      const one = aRecordedPayment({ ...channels, method, amount: 0n, logIndex: undefined });
      expect(compare(seen({ logs: [aTransfer(0, { payer: ESCROW })] }), one)).toEqual([]);
      expect(compare(seen({ logs: [] }), one)).toEqual([]);
    }
  });
});
