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
        read: () => {
          const result = kept.at(-1)?.result;
          const intent: Intent = { ...ANSWERED, result };
          return Promise.resolve(result && { intent, record: '1/x' });
        },
        write: (_wallet, _id, intent) => {
          kept.push(intent);
          return Promise.resolve(true);
        },
      },
      {
        takeAnswer: () => {
          asksForRoom += 1;
          return Promise.resolve(hasRoom);
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
    const keep = (intent: Intent) => records.keep(WALLET, 'i', intent, '1/x');
    return { shown, keep, kept, journal };
  }

  let isFull = false;
  let hasRoom = true;
  let asksForRoom = 0;

  it('is kept without its answer where that has no room, and a free one is not kept', async () => {
    const { keep, shown, kept } = where({ kind: 'spent' });
    hasRoom = false;
    await keep(ANSWERED);
    expect(kept).toMatchObject([{ state: 'paid', result: { body: '', isCutOff: true } }]);
    expect(await shown(ANSWERED)).toMatchObject({ status: 'paid', body: 'b' });
    expect(kept[1]).toMatchObject({ isProven: true, result: { body: '', isCutOff: true } });
    await keep({ ...ANSWERED, state: 'free', deal: undefined });
    hasRoom = true;
    expect(kept).toHaveLength(2);
    await keep({ ...ANSWERED, state: 'free', deal: undefined });
    expect(kept[2]).toMatchObject({ state: 'free', result: { body: 'b' } });
  });

  it('takes room once: when it is proven it is stored already', async () => {
    const { keep, shown, kept } = where({ kind: 'spent' });
    asksForRoom = 0;
    await keep(ANSWERED);
    hasRoom = false;
    await shown(ANSWERED);
    hasRoom = true;
    expect(kept).toMatchObject([
      { result: { body: 'b' } },
      { isProven: true, result: { body: 'b' } },
    ]);
    expect(asksForRoom).toBe(1);
  });

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
