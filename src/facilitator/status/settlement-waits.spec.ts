import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { SettlementStatus } from '../../settlement/ledger/queries/settlement-status.js';
import type {
  SettlementEvents,
  SettlementUpdate,
} from '../../settlement/ledger/settlement-events.js';
import type { SettlementState } from '../../settlement/model/settlement.js';
import { SettlementWaits, type WaitedStatus } from './settlement-waits.js';

const UPDATE: SettlementUpdate = { kind: 'included', transaction: undefined, reason: undefined };

describe('a look-up that waits', () => {
  let state: SettlementState | undefined;
  let looks: number;
  let isAway: boolean;
  let listeners: Set<(event: SettlementUpdate) => void>;
  let waits: SettlementWaits;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    [state, looks, isAway, listeners] = ['broadcast', 0, false, new Set()];
    const events: Pick<SettlementEvents, 'listen'> = {
      listen: (_, listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const status = {
      byId: () => {
        looks += 1;
        if (isAway) return Promise.reject(new RedisUnavailableError('a test', undefined));
        return Promise.resolve(
          state === undefined ? undefined : ({ state } as Partial<SettlementStatus> as never),
        );
      },
    };
    const never = { byId: () => Promise.reject(new Error('no simulated one is asked for')) };
    waits = new SettlementWaits(events, status, never, { steady: () => Date.now() });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** One that is asked for, and what has become of it by now. */
  function asked(seconds = 20, client = 'a seller') {
    let hangUp = (): void => undefined;
    const connection = {
      isWritable: true,
      closed: new Promise<void>((resolve) => {
        hangUp = resolve;
      }),
    };
    const result: { answer?: WaitedStatus; error?: unknown } = {};
    const ended = waits.lookUp({ id: 'one', seconds, client, connection }).then(
      (answer) => Object.assign(result, { answer }),
      (error: unknown) => Object.assign(result, { error }),
    );
    return {
      result,
      ended,
      hangUp: () => {
        connection.isWritable = false;
        hangUp();
      },
    };
  }
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('is answered when the state changes without an event', async () => {
    const { result } = asked();
    await pass(3000);
    expect(result).toEqual({});
    state = 'included';
    await pass(500);
    expect(result.answer).toEqual({ status: { state: 'included' }, isTurnedAway: false });
  });

  it('is answered at once on an event in this process', async () => {
    const { result } = asked();
    await pass(1);
    state = 'included';
    for (const listener of listeners) listener(UPDATE);
    await pass(0);
    expect(result.answer?.status).toEqual({ state: 'included' });
    expect(listeners.size).toBe(0);
  });

  it('goes on waiting after an event that changes no state', async () => {
    const { result } = asked();
    await pass(1);
    for (const listener of listeners) listener(UPDATE);
    await pass(10);
    expect(result).toEqual({});
  });

  it('is answered with how things stand when its time is over, to the millisecond', async () => {
    const { result } = asked(2);
    await pass(1999);
    expect(result).toEqual({});
    await pass(1);
    expect(result.answer).toEqual({ status: { state: 'broadcast' }, isTurnedAway: false });
    expect(looks).toBe(5);
  });

  it('is answered when a state goes back', async () => {
    state = 'included';
    const { result } = asked();
    await pass(600);
    state = 'broadcast';
    await pass(600);
    expect(result.answer?.status).toEqual({ state: 'broadcast' });
  });

  it.each<[string, SettlementState | undefined, number]>([
    ['of no seconds', 'broadcast', 0],
    ['of what is not known', undefined, 20],
    ...(['finalized', 'reverted', 'expired', 'foreign', 'withdrawn'] as const).map(
      (finished): [string, SettlementState, number] => [`of what is ${finished}`, finished, 20],
    ),
  ])('does not wait: %s', async (_, known, seconds) => {
    state = known;
    const { result } = asked(seconds);
    await pass(0);
    expect(result.answer).toMatchObject({ isTurnedAway: false });
    expect(looks).toBe(1);
    expect(listeners.size).toBe(0);
  });

  it('ends when its client hangs up, and looks no more', async () => {
    const { ended, hangUp } = asked();
    await pass(600);
    const before = looks;
    hangUp();
    await ended;
    await pass(5000);
    expect(looks).toBe(before);
    expect(listeners.size).toBe(0);
  });

  it('says that it cannot be asked when Redis goes away, and leaves its place', async () => {
    const first = asked();
    await pass(1);
    isAway = true;
    await pass(500);
    expect(first.result.error).toBeInstanceOf(RedisUnavailableError);
    expect(listeners.size).toBe(0);
  });

  it('has 64 places for one client, which come back', async () => {
    const all = Array.from({ length: 64 }, () => asked());
    await pass(1);
    const turnedAway = asked();
    const other = asked(20, 'another');
    await pass(0);
    expect(turnedAway.result.answer).toEqual({
      status: { state: 'broadcast' },
      isTurnedAway: true,
    });
    expect(other.result).toEqual({});
    all[0]?.hangUp();
    await all[0]?.ended;
    const again = asked();
    await pass(1);
    expect(again.result).toEqual({});
  });

  it('has 256 places for all of them', async () => {
    for (let count = 0; count < 256; count += 1) asked(20, `client ${count % 8}`);
    await pass(1);
    const late = asked(20, 'late');
    await pass(0);
    expect(late.result.answer?.isTurnedAway).toBe(true);
  });

  it('is answered when the process ends, and none begins after that', async () => {
    const { result, ended } = asked();
    await pass(1);
    waits.stop();
    await ended;
    expect(result.answer?.status).toEqual({ state: 'broadcast' });
    const late = asked();
    await pass(0);
    expect(late.result.answer?.isTurnedAway).toBe(true);
  });
});
