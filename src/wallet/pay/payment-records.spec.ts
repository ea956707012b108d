import { describe, expect, it } from '@jest/globals';
import type { Fate } from '../budget/reconciler.js';
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
  function where(...fates: readonly Fate[]) {
    const kept: StoredIntent[] = [];
    let asked = 0;
    const records = new PaymentRecords({
      intents: {
        read: () => Promise.resolve(undefined),
        write: (_wallet, _id, intent) => {
          kept.push(intent);
          return Promise.resolve(true);
        },
      },
      asking: { ofIntent: () => Promise.resolve(undefined) },
      store: { history: () => Promise.resolve([]) },
      reconciler: {
        look: () => {
          asked += 1;
          return Promise.resolve(fates[Math.min(asked, fates.length) - 1] ?? { kind: 'open' });
        },
        transactionOf: () => Promise.resolve(REAL),
      },
      publicUrl: '',
      now: () => 0,
    });
    const shown = (intent: Intent, patienceMs = 0) =>
      records.shown(WALLET, 'i', { intent, record: '1/x' }, patienceMs);
    return { shown, kept };
  }

  it('is presented, and names no transaction, until the chain shows it', async () => {
    const { shown, kept } = where({ kind: 'open' });
    const view = await shown(ANSWERED);
    expect([view.status, view.transaction, view.body]).toEqual(['presented', undefined, 'b']);
    expect(kept).toEqual([]);
  });

  it('is paid when a block shows it, and for good when a final one does', async () => {
    const soon = where({ kind: 'seen' });
    expect(await soon.shown(ANSWERED)).toMatchObject({ status: 'paid', transaction: REAL });
    expect(soon.kept).toEqual([]);
    const final = where({ kind: 'spent' });
    expect(await final.shown(ANSWERED)).toMatchObject({ status: 'paid', transaction: REAL });
    expect(final.kept).toMatchObject([{ isProven: true, transaction: REAL }]);
  });

  it('is not paid when the chain proves the authorization unused, whatever the seller named', async () => {
    const view = await where({ kind: 'unspent', block: 1n }).shown(ANSWERED);
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
