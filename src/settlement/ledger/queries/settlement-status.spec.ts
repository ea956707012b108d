import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import {
  aSettlementDetails,
  aSettlementView,
} from '../../../../test/builders/settlement/model/settlement-view.js';
import type { SettlementState } from '../../model/settlement.js';
import { statusOf } from './settlement-status.js';

const TX: Hex = `0x${'5f'.repeat(32)}`;
const DETAILS = aSettlementDetails({ hashes: [TX], blockHash: TX });

describe('what anyone may see of a settlement', () => {
  it.each<[SettlementState, boolean, string]>([
    ['queued', false, 'none'],
    ['broadcast', false, 'none'],
    ['included', true, 'included'],
    ['finalized', true, 'finalized'],
    ['foreign', true, 'finalized'],
    ['foreign', false, 'none'],
    ['reverted', false, 'none'],
    ['expired', false, 'none'],
    ['withdrawn', false, 'none'],
  ])('%s, paid %s: final as %s', (state, isPaid, finality) => {
    const view = aSettlementView({ state, isPaid });
    const status = statusOf({ isLive: false, view, details: undefined });
    expect(status).toMatchObject({ state, paid: isPaid, finality, source: 'ledger' });
  });

  it('names the archive where the ledger does not hold it any more', () => {
    const view = aSettlementView({ state: 'finalized', isPaid: true });
    const status = statusOf({ isLive: false, isArchived: true, view, details: DETAILS });
    expect(status).toMatchObject({ source: 'archive', paid: true, transactions: [TX] });
  });

  it('is whole while its details are kept, with numbers as text and times as ISO 8601', () => {
    const view = aSettlementView({ transaction: TX, blockNumber: 7n, logIndex: 0, batchSize: 2 });
    expect(statusOf({ isLive: true, view, details: DETAILS })).toMatchObject({
      transaction: TX,
      transactions: [TX],
      logIndex: 0,
      batchSize: 2,
      block: { number: '7', hash: TX },
      payment: { network: 'eip155:56', amount: '1000', nonce: (2n ** 255n).toString() },
      times: { arrived: '1970-01-01T00:00:00.000Z', claimed: '2023-11-14T22:13:20.000Z' },
    });
  });

  it('shows what was settled beside what was signed', () => {
    const view = aSettlementView({ settledAmount: 400n });
    expect(statusOf({ isLive: true, view, details: DETAILS })).toMatchObject({
      payment: { amount: '1000', settledAmount: '400' },
    });
  });

  it('does not show who bought it, by which key, or what was signed', () => {
    const view = aSettlementView({
      sale: { state: 'sold', requester: 'p.77', soldKeyTag: 'secret-key', boundKeyTag: 'bound' },
    });
    const text = JSON.stringify(statusOf({ isLive: true, view, details: DETAILS }));
    expect(text).toContain('"sale":"sold"');
    expect(text).not.toMatch(/p\.77|secret-key|bound|signed|signature/);
  });

  it('leaves out what is not known rather than to say nothing of it', () => {
    const status = statusOf({ isLive: false, view: aSettlementView(), details: undefined });
    const known = ['settlementId', 'source', 'state', 'paid', 'finality', 'sale'];
    expect(Object.keys(status).sort()).toEqual(known.sort());
  });
});
