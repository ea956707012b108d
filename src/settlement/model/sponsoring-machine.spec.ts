import { describe, expect, it } from '@jest/globals';
import {
  isBlameless,
  mayHavePlace,
  PLACES,
  SPONSORING_EVENTS,
  SPONSORING_STATES,
  sponsoringCell,
  type SponsoringEvent,
  sponsoringEvent,
  sponsoringLua,
  type SponsoringState,
} from './sponsoring-machine.js';

const EVENTS = [
  'claimed',
  'taken',
  'given_back',
  'postponed',
  'funded',
  'allocated',
  'parked',
  'finalized_unpaid_requeue',
  'recollect',
  'unparked',
  'refused',
  'expired',
  'turned_away',
  'withdrawn',
  'finalized_paid',
  'finalized_unpaid_reverted',
  'used_by_other_paid',
  'used_by_other_unpaid',
  'restored',
] as const satisfies readonly SponsoringEvent[];

/**
 * Written out a second time, cell by cell, in the order of {@link EVENTS}; `.` leaves it where it is. Behind a
 * colon: `p` counts against the payer, `t` counts the time it had a place, `b` gives this signed body none again.
 */
const EXPECTED: Readonly<Record<SponsoringState, string>> = {
  none: 'asked . . . . . . . . . . . . . . . . . approved',
  asked: '. waiting . . . . . . . . . ended . ended . . . . approved',
  waiting:
    '. . asked asked funded approved approved . asked . ended:pb ended:pb ended ended:t ended ended ended ended approved',
  funded:
    '. . . . . sponsored sponsored . . . wasted:pb wasted:pb wasted:p wasted:pt ended wasted:pb ended wasted:pb sponsored',
  approved: '. . . . . . . asked asked asked . ended . . ended ended ended ended .',
  sponsored: '. . . . . . . funded funded funded . wasted:p . . ended wasted ended wasted:p .',
  wasted: '. . . . . . . . . . . . . . . . . . .',
  ended: '. . . . . . . . . . . . . . . . . . .',
};
const LETTERS = { payer: 'p', time: 't', payment: 'b' } as const;

describe('the table of approvals that the operator pays for', () => {
  const cells = SPONSORING_STATES.flatMap((state) => {
    const row = EXPECTED[state].split(' ');
    return EVENTS.map((event, index) => [state, event, row[index] ?? ''] as const);
  });

  it.each(cells)('%s, %s: %s', (state, event, expected) => {
    const cell = sponsoringCell(state, event);
    const marks = cell?.marks.map((mark) => LETTERS[mark]).join('') ?? '';
    expect(cell === undefined ? '.' : cell.next + (marks && `:${marks}`)).toBe(expected);
  });

  it('says nothing of events that are not above', () => {
    for (const event of SPONSORING_EVENTS) {
      if ((EVENTS as readonly string[]).includes(event)) continue;
      for (const state of SPONSORING_STATES) expect(sponsoringCell(state, event)).toBeUndefined();
    }
  });

  it('calls wasted what was sent and not paid, however it ends, and nothing else', () => {
    const ends = ['wasted', 'ended'];
    for (const state of SPONSORING_STATES) {
      for (const event of SPONSORING_EVENTS) {
        const next = sponsoringCell(state, event)?.next;
        if (next === undefined || !ends.includes(next)) continue;
        const isPaid = event === 'finalized_paid' || event === 'used_by_other_paid';
        const wasSent = state === 'funded' || state === 'sponsored';
        expect([state, event, next]).toEqual([
          state,
          event,
          wasSent && !isPaid ? 'wasted' : 'ended',
        ]);
      }
    }
  });

  it('blames no payer for a shortage of the operator', () => {
    expect([isBlameless('no_gas'), isBlameless('budget_exhausted')]).toEqual([true, true]);
    expect(sponsoringEvent('refused', 'no_gas')).toBe('turned_away');
    expect(sponsoringEvent('refused', 'erc20_approval_broadcast_failed')).toBe('refused');
    expect(sponsoringEvent('expired', 'no_gas')).toBe('expired');
  });

  it('is the same for Lua', () => {
    const lua = sponsoringLua();
    expect(lua).toContain(';funded.withdrawn=wasted:+payer+time;');
    expect(lua).toContain(';none.claimed=asked:;');
    const written = [...lua.matchAll(/;(\w+\.\w+)=(?=\w)/g)].map(([, cell]) => cell);
    const expected = cells.filter(([, , cell]) => cell !== '.');
    expect(new Set(written)).toEqual(
      new Set(expected.map(([state, event]) => `${state}.${event}`)),
    );
    expect(lua.split('\n').slice(1)).toEqual([
      'local BLAMELESS = { no_gas = true, budget_exhausted = true }',
      'local PLACE_MS = 60000',
      '',
    ]);
  });

  it('leaves places for six more assets, however many payers ask for one', () => {
    const held: number[] = [];
    const free = (): number => PLACES - held.reduce((sum, n) => sum + n, 0);
    while (mayHavePlace(0, free())) {
      let own = 0;
      while (mayHavePlace(own, free() - own)) own += 1;
      held.push(own);
    }
    expect(held).toEqual([32, 16, 8, 4, 2, 1, 1]);
  });
});
