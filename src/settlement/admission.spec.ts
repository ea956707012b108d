import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  anAcceptedPayment,
  anEip3009Authorization,
} from '../../test/builders/protocol/payment/accepted-payment.js';
import type { EvmChain } from '../platform/chain/evm-chain.js';
import type { AcceptedPayment } from '../protocol/payment/accepted-payment.js';
import { Admission } from './admission.js';
import type { LaneQueries } from './ledger/queries/lane-queries.js';
import type { LaneCondition, LaneStatus } from './model/lane-status.js';

const NOW_SECONDS = 1_700_000_000;

const aLane = (trouble?: LaneCondition, more: Partial<LaneStatus> = {}): LaneStatus =>
  ({ chainId: 56, trouble, inclusionMs: 500, perSecond: 100, ...more }) as LaneStatus;
const aPayment = (secondsLeft: number): AcceptedPayment =>
  anAcceptedPayment({
    authorization: anEip3009Authorization({ validBefore: BigInt(NOW_SECONDS + secondsLeft) }),
  });
const aChain = (headAgeSeconds?: number): EvmChain =>
  ({
    newestBlockTime: headAgeSeconds === undefined ? undefined : NOW_SECONDS - headAgeSeconds,
  }) as unknown as EvmChain;

describe('a good payment', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: NOW_SECONDS * 1000 });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const admissionOf = (lanes: readonly LaneStatus[], headMaxAgeMs = 5000): Admission =>
    new Admission({ live: () => Promise.resolve(lanes) } as unknown as LaneQueries, {
      headMaxAgeMs,
    });

  it.each<[string, readonly LaneStatus[], string | undefined]>([
    ['one is well', [aLane()], undefined],
    ['none has gas', [aLane('no_gas'), aLane('no_gas')], 'no_gas'],
    ['one has gas', [aLane('no_gas'), aLane()], undefined],
    ['all have spent their budget', [aLane('budget_exhausted')], 'budget_exhausted'],
    // It may wait for whichever comes back first.
    ['they are in different trouble', [aLane('no_gas'), aLane('budget_exhausted')], undefined],
    ['they are in passing trouble', [aLane('chain_unavailable'), aLane('resyncing')], undefined],
    ['none lives: one may come', [], undefined],
  ])('is queued or refused by the lanes: %s', async (_, lanes, expected) => {
    expect(await admissionOf(lanes).refusal(aPayment(60), aChain(1))).toBe(expected);
  });

  it.each<[string, number, string | undefined]>([
    ['just enough time', 2, undefined],
    ['a second less', 1, 'deadline_too_close'],
    ['none left', -1, 'deadline_too_close'],
  ])('has %s for one block and the margin', async (_, secondsLeft, expected) => {
    expect(await admissionOf([aLane()]).refusal(aPayment(secondsLeft), aChain(1))).toBe(expected);
  });

  it('waits for those before it: the longer the queue the more time it needs', async () => {
    const admission = admissionOf([aLane(), aLane()]);
    const payment = aPayment(4);
    admission.noteQueued(payment, 400);
    expect(await admission.refusal(payment, aChain(1))).toBeUndefined();
    admission.noteQueued(payment, 600);
    expect(await admission.refusal(payment, aChain(1))).toBe('deadline_too_close');
    // The queue of another chain is nothing to it.
    admission.noteQueued(payment, 0);
    admission.noteQueued({ ...payment, chainId: 97 }, 1_000_000);
    expect(await admission.refusal(payment, aChain(1))).toBeUndefined();
  });

  it('is refused for a queue of a moment ago, and not for an older one', async () => {
    const admission = admissionOf([aLane()]);
    admission.noteQueued(aPayment(60), 10_000);
    jest.advanceTimersByTime(1900);
    expect(await admission.refusal(aPayment(60), aChain(1))).toBe('deadline_too_close');
    jest.advanceTimersByTime(200);
    expect(await admission.refusal(aPayment(60), aChain(1))).toBeUndefined();
  });

  it('is taken to wait two seconds for a lane that has not included anything yet', async () => {
    const admission = admissionOf([aLane(undefined, { inclusionMs: 0 })]);
    expect(await admission.refusal(aPayment(3), aChain(1))).toBeUndefined();
    expect(await admission.refusal(aPayment(2), aChain(1))).toBe('deadline_too_close');
  });

  it.each<[string, number | undefined, number, string | undefined]>([
    ['a head of a moment ago', 15, 5000, undefined],
    ['an old head', 16, 5000, 'network_unavailable'],
    ['an old head, on a chain that mines on demand', 3600, 0, undefined],
    ['no head yet', undefined, 5000, undefined],
  ])('is judged by %s', async (_, age, headMaxAgeMs, expected) => {
    const admission = admissionOf([aLane()], headMaxAgeMs);
    expect(await admission.refusal(aPayment(60), aChain(age))).toBe(expected);
  });

  it.each<[number, number, number]>([
    [400, 100, 1],
    [4000, 100, 10],
    [1_000_000, 100, 60],
    [100, 0, 25],
    [0, 0, 1],
  ])(
    'of a full queue of %i at %i a second comes again in %i s',
    async (queued, perSecond, seconds) => {
      const lanes = [aLane(undefined, { perSecond })];
      expect(await admissionOf(lanes).retryAfterSeconds(aPayment(60), queued)).toBe(seconds);
    },
  );
});
