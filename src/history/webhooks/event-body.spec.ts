import { describe, expect, it } from '@jest/globals';
import { rowNamed } from '../../../test/builders/history/sellers/settlement-reader.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';
import { settlementOf } from '../sellers/archived-settlement.js';
import { eventBody } from './event-body.js';

describe('the body of an event', () => {
  it('holds the settlement in the form of a look-up, with the amount that was settled', () => {
    const row = { ...rowNamed('a', 0, { settled_amount: '400' }), chain_id: 56 };
    const at = new Date('2026-11-22T08:00:00Z');
    const { source, ...settlement } = statusOf(settlementOf(row));
    expect(source).toBe('ledger');
    expect(JSON.parse(eventBody('settlement.included', row, at))).toEqual({
      type: 'settlement.included',
      timestamp: '2026-11-22T08:00:00.000Z',
      data: settlement,
    });
    expect(settlement.payment).toMatchObject({ settledAmount: '400' });
  });
});
