import { describe, expect, it } from '@jest/globals';
import { aRecorded, idOf } from '../../../test/builders/history/recorded-settlement.js';
import { rowOf, type SettlementRow } from '../settlement-row.js';
import { eventIdOf, eventsBetween, type EventState } from './settlement-events.js';

const HASH = Buffer.alloc(32, 1);
const OTHER = Buffer.alloc(32, 2);

const standing = (
  state: string,
  is_paid = state === 'included' || state === 'finalized',
  more: Partial<EventState> = {},
): EventState => ({
  state,
  is_paid,
  transaction: HASH,
  block_hash: is_paid ? HASH : null,
  sale: 'open',
  unclaimed_at: null,
  ...more,
});
const [queued, sent] = [standing('queued'), standing('broadcast')];
const [included, finalized] = [standing('included'), standing('finalized')];
const [expired, copied] = [standing('expired'), standing('foreign', true)];
const elsewhere = standing('included', true, { block_hash: OTHER });
const unclaimed = standing('finalized', true, { unclaimed_at: new Date(1) });
const claimedLate = standing('finalized', true, { sale: 'sold' });

describe('events of a settlement', () => {
  it.each<[string, EventState | undefined, EventState, string[]]>([
    ['is sent', queued, sent, []],
    ['is unclaimed', finalized, unclaimed, ['unclaimed']],
    ['was unclaimed, and has its sale by now', finalized, claimedLate, []],
    ['was sold, and is open and unclaimed again', claimedLate, unclaimed, ['unclaimed']],
    [
      'was sold before it was archived as unclaimed, and is unclaimed again',
      standing('finalized', true, { unclaimed_at: new Date(1), sale: 'sold' }),
      unclaimed,
      ['unclaimed'],
    ],
    [
      'was unclaimed before the archive first knew it',
      undefined,
      claimedLate,
      ['included', 'finalized'],
    ],
    ['is seen for the first time', undefined, sent, []],
    ['is included', sent, included, ['included']],
    ['is final', included, finalized, ['finalized']],
    [
      'is final when it is seen for the first time',
      undefined,
      finalized,
      ['included', 'finalized'],
    ],
    ['is final before it was seen as included', sent, finalized, ['included', 'finalized']],
    ['was sent by another account', sent, copied, ['included', 'finalized']],
    ['fails', sent, expired, ['failed']],
    ['fails before it was seen', undefined, standing('reverted'), ['failed']],
    ['was used elsewhere', sent, standing('foreign', false), ['failed']],
    ['is withdrawn', queued, standing('withdrawn'), ['failed']],
    ['has a new sale', included, included, []],
    ['has failed already', expired, expired, []],
    ['is final already', finalized, finalized, []],
    ['is taken back', included, sent, ['reorged']],
    ['is taken back though it was final', finalized, queued, ['reorged']],
    ['is taken back, and fails', included, expired, ['reorged', 'failed']],
    ['moves to another block', included, elsewhere, ['reorged', 'included']],
    [
      'moves to another block and is final there',
      included,
      standing('finalized', true, { block_hash: OTHER }),
      ['reorged', 'included', 'finalized'],
    ],
    [
      'is paid by another transaction',
      included,
      standing('included', true, { transaction: OTHER, block_hash: null }),
      ['reorged', 'included'],
    ],
    [
      'loses the hash of its block',
      included,
      standing('finalized', true, { block_hash: null }),
      ['finalized'],
    ],
    ['is paid after it failed', expired, included, ['included']],
    ['was not delivered for too long', finalized, unclaimed, ['unclaimed']],
    [
      'was not delivered when the archive first knew it',
      sent,
      unclaimed,
      ['included', 'finalized', 'unclaimed'],
    ],
    ['was so before', unclaimed, unclaimed, []],
  ])('when it %s', (_, before, after, events) => {
    expect(eventsBetween(before, after)).toEqual(events.map((name) => `settlement.${name}`));
  });

  it('have names of their own', () => {
    const row = (name: string, sequence: number, epoch = 1): SettlementRow =>
      rowOf(56, epoch, {
        kind: 'recorded',
        id: idOf(name),
        version: { ms: 5, sequence },
        settlement: aRecorded(name, 'included'),
      });
    const id = eventIdOf('settlement.included', row('a', 1));
    expect(id).toMatch(/^evt_[\w-]{32}$/);
    expect(eventIdOf('settlement.included', row('a', 1))).toBe(id);
    const others = [
      eventIdOf('settlement.finalized', row('a', 1)),
      eventIdOf('settlement.included', row('b', 1)),
      eventIdOf('settlement.included', row('a', 2)),
      eventIdOf('settlement.included', row('a', 1, 2)),
    ];
    expect(new Set([id, ...others]).size).toBe(5);
  });
});
