import { describe, expect, it } from '@jest/globals';
import { aRecorded, idOf } from '../../test/builders/history/recorded-settlement.js';
import type { RecordedSettlement } from '../settlement/model/recorded-settlement.js';
import { holdsAllOf, settlementOfRow } from './archived-row.js';
import { rowOf, type SettlementRow } from './settlement-row.js';

const rowOfRecord = (settlement: RecordedSettlement): SettlementRow =>
  rowOf(56, 1, {
    kind: 'recorded',
    id: settlement.view.id,
    version: { ms: 1, sequence: 0 },
    settlement,
  });

describe('an archived settlement', () => {
  it.each(['broadcast', 'included', 'finalized', 'reverted', 'expired', 'foreign'] as const)(
    'that is %s is read as it was written',
    (state) => {
      const written = aRecorded('a', state);
      const read = settlementOfRow(rowOfRecord(written));
      expect(read).toMatchObject({
        chainId: 56,
        view: written.view,
        isAcknowledged: written.isAcknowledged,
      });
      expect(read.authorizationId).toBe(written.authorizationId);
      expect(read.times).toEqual(written.times);
      const { amount, payer, hashes } = read.details ?? {};
      const { details } = written;
      expect({ amount, payer, hashes }).toEqual({
        amount: details?.amount,
        payer: details?.payer,
        hashes: details?.hashes,
      });
      expect(holdsAllOf(read, written)).toBe(true);
    },
  );

  it('of which PostgreSQL gives large numbers as texts is the same', () => {
    const row = rowOfRecord(aRecorded('a', 'finalized'));
    expect(settlementOfRow({ ...row, chain_id: '56' })).toEqual(settlementOfRow(row));
  });

  it('without its payment has no details', () => {
    const read = settlementOfRow(rowOfRecord(aRecorded('a', 'finalized', { details: undefined })));
    expect(read.details).toBeUndefined();
  });

  it('with what no version has written is not read', () => {
    const row = rowOfRecord(aRecorded('a'));
    expect(() => settlementOfRow({ ...row, state: 'nowhere' })).toThrow(TypeError);
    expect(() => settlementOfRow({ ...row, method: 'nothing' })).toThrow(TypeError);
  });
});

describe('whether the archive has all that a record says', () => {
  const record = aRecorded('a', 'finalized');
  const archived = settlementOfRow(rowOfRecord(record));
  const sale = record.view.sale;

  it.each<[string, RecordedSettlement]>([
    ['another state', { ...record, view: { ...record.view, state: 'foreign' } }],
    [
      'another buyer',
      { ...record, view: { ...record.view, sale: { ...sale, requester: 'other.1' } } },
    ],
    ['no buyer', { ...record, view: { ...record.view, sale: { ...sale, state: 'open' } } }],
    [
      'another key',
      { ...record, view: { ...record.view, sale: { ...sale, soldKeyTag: idOf('k') } } },
    ],
    [
      'another transaction',
      { ...record, view: { ...record.view, transaction: `0x${'ee'.repeat(32)}` } },
    ],
    ['that a second answer was acknowledged', { ...record, isPinned: true }],
    ['that no answer was acknowledged', { ...record, isAcknowledged: false }],
    ['another block', { ...record, blockHash: `0x${'ee'.repeat(32)}` }],
    ['another end', { ...record, times: { ...record.times, finished: 5 } }],
    ['another settled amount', { ...record, view: { ...record.view, settledAmount: 5n } }],
    [
      'another payment',
      { ...record, details: record.details && { ...record.details, amount: 1n } },
    ],
  ])('it has not: %s', (_, other) => {
    expect(holdsAllOf(archived, other)).toBe(false);
  });

  it('it has where it knows a payment that the record was made again without', () => {
    expect(holdsAllOf(archived, { ...record, details: undefined })).toBe(true);
    expect(holdsAllOf({ ...archived, details: undefined }, record)).toBe(false);
  });

  it('it has where the claim was made again at another time', () => {
    expect(holdsAllOf(archived, { ...record, times: { ...record.times, claimed: 1 } })).toBe(true);
  });
});
