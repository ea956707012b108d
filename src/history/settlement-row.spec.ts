import { describe, expect, it } from '@jest/globals';
import { aRecorded, CLAIMED_AT, idOf } from '../../test/builders/history/recorded-settlement.js';
import type { RecordedSettlement } from '../settlement/model/recorded-settlement.js';
import { holdsAllOf, settlementOfRow } from './archived-row.js';
import { newestOf, rowOf } from './settlement-row.js';

const change = (settlement: RecordedSettlement, id = idOf('a'), sequence = 1) =>
  ({ kind: 'recorded', id, version: { ms: 5, sequence }, settlement }) as const;

const signedAs = (signedTag: string) => ({ view: { ...aRecorded('a').view, signedTag } });

describe('the row of a settlement', () => {
  it('holds hashes and addresses as bytes, amounts whole', () => {
    const row = rowOf(56, 2, change(aRecorded('a', 'finalized')));
    expect(row).toMatchObject({
      chain_id: 56,
      epoch: 2,
      version_ms: 5,
      version_sequence: 1,
      state: 'finalized',
      is_paid: true,
      is_told: true,
      sale: 'sold',
      sold_to: 'process.1',
      block_number: '7',
      log_index: 3,
      batch_size: 1,
      scheme: 'exact',
      method: 'eip3009',
      transaction: Buffer.alloc(32, 0xab),
      block_hash: Buffer.alloc(32, 0xcd),
      asset: Buffer.alloc(20, 0xa1),
      payer: Buffer.alloc(20, 0xb2),
      pay_to: Buffer.alloc(20, 0xc3),
      amount: (2n ** 256n - 1n).toString(),
      authorization_nonce: (2n ** 256n - 1n).toString(),
      transactions: [Buffer.alloc(32, 0xab)],
      claimed_at: new Date(CLAIMED_AT),
      finished_at: new Date(CLAIMED_AT + 1500),
    });
    expect(row.id.toString('base64url')).toBe(idOf('a'));
  });

  it('leaves open what the ledger does not know', () => {
    const row = rowOf(56, 1, change(aRecorded('a', 'finalized', { details: undefined })));
    expect(row).toMatchObject({ amount: null, payer: null, pay_to: null, transactions: null });
  });

  it('has no signature of a record that a lane made again', () => {
    const made = change(aRecorded('a', 'broadcast', signedAs('')));
    const row = rowOf(56, 1, made);
    expect(row.signed_tag).toHaveLength(0);
    const read = settlementOfRow({ ...row, chain_id: '56' });
    expect(holdsAllOf(read, made.settlement)).toBe(true);
  });

  it.each([
    ['a signature', change(aRecorded('a', 'broadcast', signedAs('no hash')))],
    ['an id', change(aRecorded('a'), 'no hash')],
    ['an authorization', change(aRecorded('a', 'broadcast', { authorizationId: '' }))],
    ['a block', change(aRecorded('a', 'broadcast', { blockHash: '0xabcd' }))],
  ])('is refused for a record with %s of another form', (_, wrong) => {
    expect(() => rowOf(56, 1, wrong)).toThrow(TypeError);
  });
});

describe('the newest change of each settlement', () => {
  it('is by the version, in whichever order they come', () => {
    const [a, b] = [change(aRecorded('a'), 'a', 10), change(aRecorded('a'), 'a', 9)];
    const other = change(aRecorded('b'), 'b', 1);
    expect(newestOf([a, b, other])).toEqual([a, other]);
    expect(newestOf([b, a])).toEqual([a]);
    const later = { ...b, version: { ms: 6, sequence: 0 } };
    expect(newestOf([a, later])).toEqual([later]);
  });
});
