import { describe, expect, it } from '@jest/globals';
import { isFinishedStage } from '../../../test/twins/settlement/finished-stage.js';
import {
  effectsOf,
  LISTINGS_OF,
  nextStage,
  type Stage,
  type StageEvent,
  STAGES,
  STATE_OF,
} from './settlement-machine.js';

const EVENTS = [
  'claimed',
  'job_seen',
  'taken',
  'given_back',
  'postponed',
  'due',
  'allocated',
  'replaced',
  'included',
  'block_replaced',
  'finalized_paid',
  'finalized_unpaid_requeue',
  'finalized_unpaid_reverted',
  'used_by_other_paid',
  'used_by_other_unpaid',
  'expired',
  'refused',
  'withdrawn',
  'parked',
  'unparked',
  'recollect',
  'restored',
] as const satisfies readonly StageEvent[];

/**
 * Written out a second time, cell by cell, in the order of {@link EVENTS}; `.` is what cannot happen.
 */
const EXPECTED: Readonly<Record<Stage, string>> = {
  none: 'pending . . . . . . . . . . . . . . . . . . . . attempt',
  pending: '. ready . . . . . . . . . . . . . expired . withdrawn . . . attempt',
  ready: '. . work . . . . . . . . . . . . expired . withdrawn . . . attempt',
  later: '. . . . . ready . . . . . . . . . expired . withdrawn . . . attempt',
  work: '. . . ready later . attempt . . . finalized . reverted foreign foreign expired withdrawn withdrawn parked . later attempt',
  attempt:
    '. . . . . . . attempt included . finalized ready reverted foreign foreign expired . . parked . later attempt',
  parked:
    '. . . . . . . . . . finalized . reverted foreign foreign expired . . parked ready later attempt',
  included: '. . . . . . . . included attempt finalized . . . . . . . . . . attempt',
  finalized: '. . . . . . . . . . . . . . . . . . . . . .',
  reverted: '. . . . . . . . . . . . . . . . . . . . . .',
  expired: '. . . . . . . . . . . . . . . . . . . . . .',
  foreign: '. . . . . . . . . . . . . . . . . . . . . .',
  withdrawn: '. . . . . . . . . . . . . . . . . . . . . attempt',
};

describe('the settlement machine', () => {
  const cells = STAGES.flatMap((stage) => {
    const row = EXPECTED[stage].split(' ');
    return EVENTS.map((event, index) => [stage, event, row[index] ?? ''] as const);
  });

  it.each(cells)('%s, %s: %s', (stage, event, expected) => {
    expect(nextStage(stage, event) ?? '.').toBe(expected);
  });

  it('never takes an attempt that may land out of the hands of a lane without a final answer', () => {
    const givenUp: readonly StageEvent[] = ['refused', 'withdrawn', 'given_back', 'postponed'];
    for (const stage of ['attempt', 'parked', 'included'] as const) {
      expect(givenUp.map((event) => nextStage(stage, event))).toEqual(givenUp.map(() => undefined));
    }
  });

  it('ends in stages that nothing but stored bytes leaves', () => {
    const finished = STAGES.filter(isFinishedStage);
    expect(finished).toEqual(['finalized', 'reverted', 'expired', 'foreign', 'withdrawn']);
    for (const stage of finished) {
      const ways = EVENTS.filter((event) => nextStage(stage, event) !== undefined);
      expect(ways).toEqual(stage === 'withdrawn' ? ['restored'] : []);
    }
  });

  it('lists every unfinished settlement in a set that is read', () => {
    for (const stage of STAGES) {
      if (stage === 'none' || isFinishedStage(stage)) continue;
      expect(LISTINGS_OF[stage]).toContain('live');
      // A settlement bound to a nonce is found through the attempt of its lane.
      const isBound = stage === 'attempt' || stage === 'included';
      expect(isBound || LISTINGS_OF[stage].some((listing) => listing === (stage as string))).toBe(
        true,
      );
    }
  });

  it('leaves the lists of the old stage and enters those of the new one', () => {
    expect(effectsOf('work', 'attempt')).toEqual({ leaves: ['queued', 'work'], enters: [] });
    expect(effectsOf('included', 'attempt')).toEqual({ leaves: [], enters: ['reserved'] });
    expect(effectsOf('attempt', 'ready')).toEqual({ leaves: [], enters: ['queued', 'ready'] });
    expect(effectsOf('attempt', 'attempt')).toEqual({ leaves: [], enters: [] });
  });

  it('shows people eight states', () => {
    expect(new Set(Object.values(STATE_OF)).size).toBe(8);
  });
});
