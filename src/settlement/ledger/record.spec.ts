import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import {
  anAcceptedPayment,
  anEip3009Authorization,
  aPermit2Authorization,
} from '../../../test/builders/protocol/payment/accepted-payment.js';
import { decodePayment } from '../../protocol/payment/accepted-payment-codec.js';
import {
  encodeHash,
  parseDetails,
  paymentFields,
  readDetails,
  readHash,
  readReason,
  readRecord,
  readSentBefore,
  readStage,
} from './record.js';

const TX: Hex = `0x${'5f'.repeat(32)}`;
const OLDER: Hex = `0x${'4e'.repeat(32)}`;
const TAGS = { termsTag: 'terms', signedTag: 'signed' };

const record = (fields: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries({ stage: 'ready', sale: 'open', terms: 'terms', signed: 'signed', ...fields }),
  );

describe('the view of a record', () => {
  it.each([
    ['ready', {}, { state: 'queued', isPaid: false }],
    ['later', {}, { state: 'queued', isPaid: false }],
    // No lane works on it, and it may land all the same.
    ['parked', { hashes: encodeHash(TX) }, { state: 'broadcast', transaction: TX }],
    ['attempt', { hashes: encodeHash(TX) }, { state: 'broadcast', transaction: TX }],
    [
      'included',
      { tx: encodeHash(TX), block: '7', log: '0' },
      { state: 'included', isPaid: true, blockNumber: 7n, logIndex: 0 },
    ],
    ['finalized', { paid: '1', batch: '3' }, { state: 'finalized', isPaid: true, batchSize: 3 }],
    ['foreign', { paid: '1' }, { state: 'foreign', isPaid: true }],
    ['foreign', {}, { state: 'foreign', isPaid: false }],
    [
      'reverted',
      { reason: 'gas_limit_exceeded' },
      { state: 'reverted', isPaid: false, reason: 'gas_limit_exceeded' },
    ],
    ['withdrawn', {}, { state: 'withdrawn', isPaid: false, transaction: undefined }],
  ])('in stage %s with %o', (stage, fields, expected) => {
    const view = readRecord('id', record({ stage, ...fields }));
    expect(view).toMatchObject(expected);
    expect(view).toMatchObject({ id: 'id', termsTag: 'terms', signedTag: 'signed' });
  });

  it('names the transaction that decided it, else the newest one that was sent', () => {
    const hashes = `${encodeHash(OLDER)},${encodeHash(TX)}`;
    const sent = record({ stage: 'attempt', hashes });
    expect(readRecord('id', sent)?.transaction).toBe(TX);
    const decided = record({ stage: 'included', hashes, tx: encodeHash(OLDER) });
    expect(readRecord('id', decided)?.transaction).toBe(OLDER);
  });

  it('says to whom it was sold, where it was', () => {
    const sold = record({ sale: 'sold', sold_to: 'p.1', sold_key: 'k', key: 'k' });
    expect(readRecord('id', sold)?.sale).toEqual({
      state: 'sold',
      requester: 'p.1',
      soldKeyTag: 'k',
      boundKeyTag: 'k',
    });
    // Redis keeps an empty text where Lua had nothing to say.
    const open = record({ sold_to: '', sold_key: '', key: '' });
    expect(readRecord('id', open)?.sale).toEqual({
      state: 'open',
      requester: undefined,
      soldKeyTag: undefined,
      boundKeyTag: undefined,
    });
  });

  it('is none of a record that is not there', () => {
    expect(readRecord('id', new Map())).toBeUndefined();
  });

  it.each([
    ['an unknown stage', { stage: 'lost' }],
    // A name that every object has is none of a stage.
    ['a stage by inheritance', { stage: 'toString' }],
    ['an unknown sale', { sale: 'held' }],
    ['a hash that is too short', { stage: 'included', tx: '0x5f' }],
    ['a hash in capitals', { stage: 'included', tx: 'AA'.repeat(32) }],
  ])('refuses %s rather than to guess', (_, fields) => {
    expect(() => readRecord('id', record(fields as Record<string, string>))).toThrow(TypeError);
  });

  it('knows no reason that this version has not', () => {
    expect(readReason('invented_later')).toBeUndefined();
    expect(readReason('toString')).toBeUndefined();
    expect(readReason('queue_full')).toBe('queue_full');
  });
});

describe('the payment of a record', () => {
  const fieldsOf = (list: readonly string[]): Map<string, string> => {
    const fields = new Map<string, string>();
    for (let at = 0; at < list.length; at += 2) fields.set(list[at] ?? '', list[at + 1] ?? '');
    return fields;
  };

  it.each([
    ['EIP-3009', anAcceptedPayment({ amount: 2n ** 200n }), 'e'],
    [
      'Permit2',
      anAcceptedPayment({ authorization: aPermit2Authorization({ nonce: 2n ** 255n }) }),
      'p',
    ],
    [
      'a sponsored permit',
      anAcceptedPayment({
        authorization: aPermit2Authorization({
          sponsoredPermit: { value: 1n, deadline: 2n, r: TX, s: OLDER, v: 27 },
        }),
      }),
      's',
    ],
  ])('with %s is whole, and its details are those of the payment', (_, payment, kind) => {
    const fields = fieldsOf(paymentFields(payment, { ...TAGS, arrivedAt: 123 }));
    expect(decodePayment(fields.get('payment') ?? '')).toEqual(payment);
    expect(fields.get('kind')).toBe(kind);
    const { authorization } = payment;
    expect(readDetails(fields, new Map())).toMatchObject({
      scheme: 'exact',
      method: authorization.method,
      chainId: 56,
      amount: payment.amount,
      payer: authorization.from,
      payTo: payment.payTo,
      token: payment.asset,
      deadline: 2_000_000_000n,
      hashes: [],
      times: { arrived: 123 },
    });
  });

  it('keeps a nonce of 256 bits, and bounds a deadline that no number holds', () => {
    const authorization = anEip3009Authorization({
      nonce: `0x${'ff'.repeat(32)}`,
      validBefore: 2n ** 256n - 1n,
    });
    const fields = fieldsOf(paymentFields(anAcceptedPayment({ authorization }), TAGS));
    const details = readDetails(fields, new Map());
    expect(details.authorizationNonce).toBe(2n ** 256n - 1n);
    expect(details.deadline).toBe(99_999_999_999n);
  });

  it('has the times of the record before those of its details', () => {
    const kept = new Map([
      ...fieldsOf(paymentFields(anAcceptedPayment(), { ...TAGS, arrivedAt: 1 })),
      ['t_claimed', '2'],
    ]);
    const now = new Map([
      ['t_claimed', '3'],
      ['t_finished', '9'],
    ]);
    expect(readDetails(kept, now).times).toMatchObject({ arrived: 1, claimed: 3, finished: 9 });
  });

  it('drops what is no text from details, and refuses an unknown method', () => {
    const fields = parseDetails('{"method":"eip3009","amount":5,"nonce":null,"asset":"0x"}');
    expect([...fields.keys()]).toEqual(['method', 'asset']);
    expect(() => readDetails(new Map([['method', 'cheque']]), new Map())).toThrow(TypeError);
  });
});

describe('hashes of a record', () => {
  it('are written without prefix, and read as they were', () => {
    expect(readHash(encodeHash(TX))).toBe(TX);
    const read = (hashes: string | undefined) => readSentBefore('7', hashes).hashes;
    expect(read([OLDER, TX].map(encodeHash).join(','))).toEqual([OLDER, TX]);
    expect(read(undefined)).toEqual([]);
    expect(read('')).toEqual([]);
    expect(readHash('')).toBeUndefined();
  });

  it('are refused in an unknown stage', () => {
    expect(() => readStage(undefined)).toThrow(TypeError);
  });
});
