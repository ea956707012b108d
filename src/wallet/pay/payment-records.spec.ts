import { describe, expect, it } from '@jest/globals';
import type { JournalEvent } from '../audit/journal-record.js';
import type { SpendingOutcome } from '../budget/reconciler.js';
import { WalletStorageError } from '../wallet-error.js';
import type { Intent, StoredIntent } from './intent.js';
import { PaymentRecords } from './payment-records.js';

const WALLET = '0x1111111111111111111111111111111111111111';
const INVENTED = `0x${'ab'.repeat(32)}`;
const REAL = `0x${'cd'.repeat(32)}` as const;

/** As it is kept when a seller has answered with 200 and names a transaction. */
const ANSWERED: Intent = {
  v: 1,
  state: 'paid',
  request: 'r',
  url: 'http://seller',
  method: 'GET',
  at: 0,
  deal: {
    x402Version: 2,
    url: 'http://seller',
    method: 'GET',
    requirements: {},
    symbol: 'USD',
    decimals: 6,
    spending: {
      id: 's',
      chainId: 1,
      method: 'eip3009',
      deadline: 100,
      asset: WALLET,
      payTo: WALLET,
      amount: 1n,
      nonce: 1n,
    },
  },
  result: {
    httpStatus: 200,
    contentType: 'text/plain',
    body: 'b',
    encoding: 'utf8',
    isCutOff: false,
  },
  transaction: INVENTED,
};

describe('a purchase that a seller has answered', () => {
  /** Where the chain says this of it, one answer after the other. */
  function where(...fates: readonly SpendingOutcome[]) {
    const kept: StoredIntent[] = [];
    const journal: JournalEvent[] = [];
    let asked = 0;
    const records = new PaymentRecords(
      {
        read: () => Promise.resolve(undefined),
        write: (_wallet, _id, intent) => {
          kept.push(intent);
          return Promise.resolve(true);
        },
      },
      { ofIntent: () => Promise.resolve(undefined) },
      { history: () => Promise.resolve([]) },
      {
        look: () => {
          asked += 1;
          return Promise.resolve(fates[Math.min(asked, fates.length) - 1] ?? { kind: 'open' });
        },
        transactionOf: () => Promise.resolve(REAL),
      },
      {
        append: (event) => {
          if (isFull) return Promise.reject(new WalletStorageError('journal', 'the disk is full'));
          journal.push(event);
          return Promise.resolve();
        },
      },
      { publicUrl: '' },
      () => 0,
    );
    const shown = (intent: Intent, patienceMs = 0) =>
      records.shown(WALLET, 'i', { intent, record: '1/x' }, patienceMs);
    return { shown, kept, journal };
  }

  let isFull = false;

  it('is presented, and names no transaction, until the chain shows it', async () => {
    const { shown, kept, journal } = where({ kind: 'open' });
    const view = await shown(ANSWERED);
    expect([view.status, view.transaction, view.body]).toEqual(['presented', undefined, 'b']);
    expect([kept, journal]).toEqual([[], []]);
  });

  it('is paid when a block shows it, and for good when a final one does', async () => {
    const soon = where({ kind: 'seen' });
    expect(await soon.shown(ANSWERED)).toMatchObject({ status: 'paid', transaction: REAL });
    expect([soon.kept, soon.journal]).toEqual([[], []]);
    const final = where({ kind: 'spent' });
    expect(await final.shown(ANSWERED)).toMatchObject({ status: 'paid', transaction: REAL });
    expect(final.kept).toMatchObject([{ isProven: true, transaction: REAL }]);
    expect(final.journal).toEqual([
      {
        event: 'paid',
        at: 0,
        wallet: WALLET,
        intent: 'i',
        spending: 's',
        transaction: REAL,
        httpStatus: 200,
      },
    ]);
  });

  it('is paid all the same when the journal cannot take it, and is noted the next time', async () => {
    isFull = true;
    const { shown, kept, journal } = where({ kind: 'spent' });
    expect(await shown(ANSWERED)).toMatchObject({ status: 'paid', transaction: REAL });
    expect(kept).toEqual([]);
    isFull = false;
    await shown(ANSWERED);
    expect([kept.length, journal.length]).toEqual([1, 1]);
  });

  it('is not paid when the chain proves the authorization unused, whatever the seller named', async () => {
    const { shown, journal } = where({ kind: 'unspent', block: 1n });
    const view = await shown(ANSWERED);
    expect(journal).toEqual([]);
    expect([view.status, view.transaction]).toEqual(['not_paid', undefined]);
  });

  it('is waited for a moment where an endpoint may be behind', async () => {
    const { shown } = where({ kind: 'open' }, { kind: 'seen' });
    expect(await shown(ANSWERED, 1000)).toMatchObject({ status: 'paid' });
  });

  it('that is lost and landed names the transaction in what to tell the seller', async () => {
    const lost: Intent = { ...ANSWERED, state: 'reserved', result: undefined };
    const view = await where({ kind: 'spent' }).shown(lost);
    expect(view.status).toBe('paid_without_content');
    expect(view.message).toContain(`naming the transaction ${REAL}`);
  });
});
