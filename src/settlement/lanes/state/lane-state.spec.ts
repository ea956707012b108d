import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../../../../test/builders/platform/concurrency/clock.js';
import { aPayment } from '../../../../test/builders/settlement/lanes/lane-world.js';
import {
  type Attempt,
  decodeAttempt,
  encodeAttempt,
  mostCostOf,
  newestTransactionOf,
  type SignedTransaction,
} from '../../model/attempt.js';
import { LaneState, LaneWindow } from './lane-state.js';
import { type Inclusion, TrackedAttempt } from './tracked-attempt.js';

const aTransaction = (n: number, more: Partial<SignedTransaction> = {}): SignedTransaction => ({
  hash: `0x${n.toString(16).padStart(64, '0')}`,
  raw: '0x02',
  gas: 100n,
  signedAt: n,
  maxFeePerGas: 10n,
  maxPriorityFeePerGas: 1n,
  isNoop: false,
  ...more,
});

const anAttempt = (accountNonce: number, transactions = [aTransaction(accountNonce)]): Attempt => ({
  accountNonce,
  kind: 'single',
  settlementIds: [`s${accountNonce}`],
  transactions,
  allocatedAtBlock: 2n ** 60n,
});

const tracked = (accountNonce: number, isMined = false): TrackedAttempt => {
  const payments = new Map([[`s${accountNonce}`, aPayment(accountNonce)]]);
  const one = new TrackedAttempt({
    attempt: anAttempt(accountNonce),
    payments,
    atBlock: 1n,
    nowMs: 5,
  });
  if (isMined) one.inclusion = { blockNumber: 1n } as Inclusion;
  return one;
};

describe('what a lane knows of itself', () => {
  let clock: TestClock;
  let troubles: number;
  let state: LaneState;

  beforeEach(() => {
    clock = new TestClock();
    troubles = 0;
    state = new LaneState(64, () => (troubles += 1), clock);
  });

  it('is resyncing until it was recovered, and reports each condition once', () => {
    expect(state.condition).toBe('resyncing');
    state.condition = undefined;
    state.condition = 'no_gas';
    state.condition = 'no_gas';
    expect([state.condition, troubles]).toEqual(['no_gas', 2]);
    // What an operator did is said first.
    state.isPaused = true;
    expect(state.condition).toBe('paused');
  });

  it('has a gap only while something waits above it', () => {
    state.condition = undefined;
    state.hasGap = true;
    expect(state.condition).toBeUndefined();
    state.allocated(tracked(3));
    expect(state.condition).toBe('nonce_gap');
  });

  it.each<[string, readonly number[], number, number, readonly number[]]>([
    ['none, where nothing is missing', [0, 1, 2, 3], 0, 16, []],
    ['one between two', [0, 2, 3], 0, 16, [1]],
    ['one above the last', [0, 1, 2], 0, 16, [3]],
    ['none that the chain has used', [3], 2, 16, [2]],
    ['no more than are wanted', [], 0, 2, [0, 1]],
  ])('which of four account nonces no attempt will use: %s', (_, stored, used, most, expected) => {
    state.open(
      stored.map((nonce) => tracked(nonce)),
      false,
    );
    state.next = 4;
    expect(state.gapsFrom(used, most)).toEqual(expected);
  });

  it('misses nothing of a nonce that is final, however little a node counts', () => {
    state.allocated(tracked(0));
    state.allocated(tracked(1));
    state.closed(0);
    expect(state.gapsFrom(0, 16)).toEqual([]);
  });

  it('keeps a filled gap in its place', () => {
    state.open([tracked(0), tracked(2)], false);
    state.filled(tracked(1));
    expect(state.attempts.map(({ accountNonce }) => accountNonce)).toEqual([0, 1, 2]);
  });

  it('counts what is mined not as in flight', () => {
    state.open([tracked(0, true), tracked(1)], false);
    expect([state.inFlight, state.pending.length, state.mined.length]).toEqual([1, 1, 1]);
  });

  it('has room for one attempt of a signer with code, whatever is mined', () => {
    state.open([], true);
    state.blockTook(10);
    expect(state.hasRoom).toBe(true);
    state.allocated(tracked(0));
    expect(state.hasRoom).toBe(false);
  });

  it('sends half as many together for ten minutes after a transaction was too large', async () => {
    expect(state.batchMost).toBe(Number.POSITIVE_INFINITY);
    state.tooLarge(25);
    expect(state.batchMost).toBe(12);
    state.tooLarge(1);
    expect(state.batchMost).toBe(1);
    await clock.pass(600_000);
    expect(state.batchMost).toBe(Number.POSITIVE_INFINITY);
  });

  it('remembers what a ledger that went back would need, as it is at that moment', () => {
    const one = tracked(0);
    state.allocated(one);
    const [remembered] = state.remembered;
    one.payments.clear();
    expect([...(remembered?.payments.keys() ?? [])]).toEqual(['s0']);
  });

  it('forgets all at a recovery, and has another number then', () => {
    state.allocated(tracked(7));
    const before = state.recoveries;
    state.open([], false);
    expect([state.hasAttempts, state.recoveries - before]).toEqual([false, 1]);
  });
});

describe('the window of a lane', () => {
  it.each<[string, number, boolean, (window: LaneWindow) => void, number]>([
    ['begins with sixteen', 64, false, () => undefined, 16],
    ['begins with less where less is allowed', 4, false, () => undefined, 4],
    [
      'grows by what a block takes, up to its limit',
      20,
      false,
      (window) => {
        window.grow(3);
        window.grow(9);
      },
      20,
    ],
    [
      'halves when the chain stalls',
      64,
      false,
      (window) => {
        window.shrink();
      },
      8,
    ],
    [
      'never closes',
      64,
      false,
      (window) => {
        for (let i = 0; i < 9; i += 1) window.shrink();
      },
      1,
    ],
    [
      'is one for a signer with code',
      64,
      true,
      (window) => {
        window.grow(9);
      },
      1,
    ],
  ])('%s', (_, max, isSignerWithCode, change, expected) => {
    const window = new LaneWindow(max, isSignerWithCode);
    change(window);
    expect(window.size).toBe(expected);
  });
});

describe('an attempt', () => {
  const noop = aTransaction(9, { isNoop: true, maxFeePerGas: 1000n, gas: 21_000n });

  it('is stored whole, with numbers that no JSON number holds', () => {
    const attempt = anAttempt(3, [aTransaction(1, { maxFeePerGas: 2n ** 200n }), noop]);
    expect(decodeAttempt(encodeAttempt(attempt))).toEqual(attempt);
    const ahead = { ...attempt, newestBlock: { number: 2n ** 60n + 1n, hash: noop.hash } };
    expect(decodeAttempt(encodeAttempt(ahead))).toEqual(ahead);
  });

  it('costs at most what its dearest transaction may, whichever is mined', () => {
    expect(mostCostOf(anAttempt(0, [aTransaction(1), noop, aTransaction(2)]))).toBe(21_000_000n);
  });

  it('has a newest transaction, or is no attempt', () => {
    expect(newestTransactionOf(anAttempt(0, [aTransaction(1), noop]))).toBe(noop);
    expect(() => newestTransactionOf(anAttempt(0, []))).toThrow(TypeError);
  });

  it('settles by each of its transactions but a no-op', () => {
    const attempt = anAttempt(0, [aTransaction(1), noop]);
    const one = new TrackedAttempt({ attempt, payments: new Map(), atBlock: 1n, nowMs: 5 });
    expect(
      [aTransaction(1), noop, aTransaction(3)].map(({ hash }) => one.isSettledBy(hash)),
    ).toEqual([true, false, false]);
    // Its nonce was taken when its first bytes were signed, not when this process began.
    expect(one.allocatedAt).toBe(1);
  });
});
