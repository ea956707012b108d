import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { TestClock } from '../../../../test/builders/platform/concurrency/clock.js';
import {
  aPayment,
  CHAIN_ID,
  TestChain,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import { ChainUnavailableError, RedisUnavailableError } from '../../../protocol/errors.js';
import type { SentBefore, TakenSettlement } from '../../ledger/lane-store.js';
import type { Attempt } from '../../model/attempt.js';
import type { OutcomeResolver, OutcomeVerdict } from '../ports.js';
import { LaneState } from '../state/lane-state.js';
import { type Inclusion, TrackedAttempt } from '../state/tracked-attempt.js';
import { type Answer, OutcomeQuestions } from './outcome-questions.js';
import { UnresolvedUses } from './unresolved-uses.js';

const USED = 'invalid_exact_evm_nonce_already_used';
const REQUEUE: OutcomeVerdict = { kind: 'requeue' };
const assetOf = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;

type Resolution = () => Promise<OutcomeVerdict>;

/** Questions about outcomes, asked beside a lane of code that may be hostile. */
describe('OutcomeQuestions', () => {
  let clock: TestClock;
  let chain: TestChain;
  let state: LaneState;
  let unresolved: UnresolvedUses;
  let resolution: Resolution;
  let asked: { readonly id: string; readonly inclusion: Inclusion | undefined }[];
  let askedAgain: SentBefore[];
  let faults: unknown[];
  let questions: OutcomeQuestions;

  beforeEach(() => {
    clock = new TestClock();
    chain = new TestChain();
    state = new LaneState(64, () => undefined, clock);
    unresolved = new UnresolvedUses();
    resolution = () => Promise.resolve(REQUEUE);
    [asked, askedAgain, faults] = [[], [], []];
    const resolver: OutcomeResolver = {
      resolve: (id, _, __, inclusion) => {
        asked.push({ id, inclusion });
        return resolution();
      },
      resolveAgain: (_, __, sent) => {
        askedAgain.push(sent);
        return resolution();
      },
    };
    const onError = (error: unknown): void => {
      faults.push(error);
    };
    questions = new OutcomeQuestions({ state, resolver, unresolved, clock, onError });
  });

  /** An attempt that carries these, each of an asset of its own or all of one. */
  function tracked(
    ids: readonly string[],
    { isMined = true, asset = assetOf(1) } = {},
  ): TrackedAttempt {
    const payments = new Map(ids.map((id, n) => [id, aPayment(n, { asset })]));
    const attempt: Attempt = {
      accountNonce: state.next,
      settlementIds: ids,
      transactions: [],
      kind: 'single',
      allocatedAtBlock: 100n,
    };
    const one = new TrackedAttempt({ attempt, payments, atBlock: 100n, nowMs: 0 });
    if (isMined) one.inclusion = { blockNumber: 101n } as Inclusion;
    state.allocated(one);
    return one;
  }

  function ask(one: TrackedAttempt, { isFinal = true, head = chain.head } = {}): void {
    for (const item of one.items) {
      questions.ask({ ...item, subject: { kind: 'attempt', tracked: one, isFinal } }, head);
    }
  }

  const answers = (): readonly Answer[] => questions.collect(chain.head);
  const kinds = (): readonly string[] =>
    answers().map((one) => (one.kind === 'verdict' ? one.verdict.kind : one.why));

  /** Asks, at a new block, and waits for as long as an answer may take. */
  async function answered(one: TrackedAttempt, waitMs = 0): Promise<readonly string[]> {
    chain.mine();
    ask(one);
    await clock.pass(0);
    await clock.pass(waitMs);
    return kinds();
  }

  it('gives the answer once', async () => {
    ask(tracked(['a']));
    await clock.pass(0);
    expect([kinds(), kinds()]).toEqual([['requeue'], []]);
  });

  it('asks by the block that is final when it asks', async () => {
    const one = tracked(['a']);
    ask(one, { head: { ...chain.head, finalized: undefined } });
    ask(one);
    const { finalized } = chain.head;
    chain.finalize();
    await clock.pass(0);
    expect(answers()).toMatchObject([{ question: { id: 'a', finalized } }]);
    expect(asked).toHaveLength(1);
  });

  it('asks nothing twice while it is being asked, or its answer is not collected', async () => {
    const one = tracked(['a']);
    ask(one);
    ask(one);
    await clock.pass(0);
    ask(one);
    await clock.pass(0);
    expect(asked).toHaveLength(1);
  });

  it.each<[string, boolean, boolean]>([
    ['by its block where that is final', true, true],
    ['by no block while it may still land', false, false],
  ])('judges an attempt %s', async (_, isFinal, hasInclusion) => {
    ask(tracked(['a']), { isFinal });
    await clock.pass(0);
    expect(asked.map(({ inclusion }) => inclusion !== undefined)).toEqual([hasInclusion]);
  });

  describe('leaves room', () => {
    const never: Resolution = () => new Promise(() => undefined);
    const ids = (count: number): string[] => Array.from({ length: count }, (_, n) => `s${n}`);

    it('for other assets, however many payments there are of one that does not answer', async () => {
      resolution = never;
      ask(tracked(ids(20)));
      await clock.pass(0);
      expect(asked).toHaveLength(8);
      ask(tracked(['good'], { asset: assetOf(2) }));
      await clock.pass(0);
      expect(asked.map(({ id }) => id)).toContain('good');
    });

    it('for the lane: no more than 64 are asked at once', async () => {
      resolution = never;
      for (let n = 1; n <= 9; n += 1) {
        ask(
          tracked(
            ids(8).map((id) => `${n}${id}`),
            { asset: assetOf(n) },
          ),
        );
      }
      await clock.pass(0);
      expect(asked).toHaveLength(64);
    });

    it('once what does not answer has been given up', async () => {
      resolution = never;
      const one = tracked(ids(9));
      ask(one);
      await clock.pass(0);
      await clock.pass(2000);
      answers();
      ask(one);
      await clock.pass(0);
      expect(asked.map(({ id }) => id)).toContain('s8');
    });
  });

  describe('gives up after three blocks in which nothing was found out', () => {
    const away = new ChainUnavailableError(CHAIN_ID, 'logs');

    it.each<[string, Resolution, number, string, number]>([
      ['no search finds it', () => Promise.resolve({ kind: 'waiting' }), 0, 'search_failed', 0],
      ['no node answers', () => Promise.reject(away), 0, 'search_failed', 0],
      [
        'the ledger is away',
        () => Promise.reject(new RedisUnavailableError('credit', undefined)),
        0,
        'search_failed',
        0,
      ],
      [
        'an unexpected error',
        () => Promise.reject(new TypeError('a fault')),
        0,
        'search_failed',
        3,
      ],
      [
        'a token hides its state',
        () => Promise.resolve({ kind: 'waiting', why: 'state_unreadable' }),
        0,
        'state_unreadable',
        0,
      ],
      ['a token burns its time', () => new Promise(() => undefined), 2000, 'state_unreadable', 0],
    ])('%s', async (_, given, waitMs, why, faultCount) => {
      resolution = given;
      const one = tracked(['a']);
      expect(await answered(one, waitMs)).toEqual([]);
      await clock.pass(250);
      expect(await answered(one, waitMs)).toEqual([]);
      await clock.pass(1000);
      expect(await answered(one, waitMs)).toEqual([why]);
      expect([asked.length, faults.length]).toEqual([3, faultCount]);
    });

    it('not while the chain stands still', async () => {
      resolution = () => Promise.reject(away);
      const one = tracked(['a']);
      for (let round = 0; round < 9; round += 1) {
        ask(one);
        await clock.pass(0);
        expect(kinds()).toEqual([]);
        await clock.pass(1000);
      }
      expect(asked).toHaveLength(9);
    });

    it('not what may still land', async () => {
      resolution = () => Promise.reject(away);
      const one = tracked(['a'], { isMined: false });
      for (let round = 0; round < 5; round += 1) {
        chain.mine();
        ask(one, { isFinal: false });
        await clock.pass(0);
        expect(kinds()).toEqual([]);
        await clock.pass(1000);
      }
    });

    it('and begins to count again once something was found out', async () => {
      const one = tracked(['a']);
      resolution = () => Promise.reject(away);
      await answered(one);
      await clock.pass(250);
      await answered(one);
      await clock.pass(1000);
      resolution = () => Promise.resolve(REQUEUE);
      expect(await answered(one)).toEqual(['requeue']);
      resolution = () => Promise.reject(away);
      expect(await answered(one)).toEqual([]);
    });

    it('with a pause after each, so that one that fails at once does not fill the lane', async () => {
      resolution = () => Promise.reject(away);
      const one = tracked(['a']);
      await answered(one);
      await clock.pass(249);
      await answered(one);
      expect(asked).toHaveLength(1);
      await clock.pass(1);
      await answered(one);
      expect(asked).toHaveLength(2);
    });
  });

  it('does not count a search as a try, and looks after it twice a second', async () => {
    resolution = () => Promise.resolve({ kind: 'searching' });
    const one = tracked(['a']);
    for (let round = 1; round <= 5; round += 1) {
      expect(await answered(one)).toEqual([]);
      await clock.pass(499);
      expect(await answered(one)).toEqual([]);
      expect(asked).toHaveLength(round);
      await clock.pass(1);
    }
  });

  describe('does not answer', () => {
    it.each<[string, (one: TrackedAttempt) => void]>([
      [
        'of an attempt that is closed',
        (one) => {
          state.closed(one.accountNonce);
        },
      ],
      [
        'of a settlement that has ended',
        (one) => {
          one.payments.clear();
        },
      ],
      [
        'of a block that was taken back',
        (one) => {
          one.inclusion = undefined;
        },
      ],
      [
        'after a new beginning',
        () => {
          questions.reset();
        },
      ],
      [
        'of a lane that was reopened',
        () => {
          state.open([], false);
        },
      ],
    ])('%s', async (_, change) => {
      const one = tracked(['a']);
      ask(one);
      await clock.pass(0);
      change(one);
      expect(answers()).toEqual([]);
    });

    it('of one that was mined since it was asked for as not mined', async () => {
      const one = tracked(['a'], { isMined: false });
      ask(one, { isFinal: false });
      await clock.pass(0);
      one.inclusion = { blockNumber: 101n } as Inclusion;
      expect(answers()).toEqual([]);
    });
  });

  describe('of a use that is not resolved', () => {
    const SENT: SentBefore = { sinceBlock: 70n, hashes: [`0x${'01'.repeat(32)}`] };

    function use(sentBefore?: SentBefore, sinceBlock = 85n): void {
      const payment = aPayment(1);
      const taken: TakenSettlement = {
        id: 'a',
        payment,
        goesAlone: false,
        tries: 0,
        isResubmitted: false,
        ...(sentBefore && { sentBefore }),
      };
      unresolved.holds(taken, USED, sinceBlock);
      questions.ask({ id: 'a', payment, subject: { kind: 'unresolved', sinceBlock } }, chain.head);
    }

    it.each<[string, SentBefore | undefined, SentBefore]>([
      ['what was sent of it before', SENT, SENT],
      ['that nothing was', undefined, { sinceBlock: 85n, hashes: [] }],
    ])('tells the judge %s', async (_, sentBefore, expected) => {
      use(sentBefore);
      await clock.pass(0);
      expect(askedAgain).toEqual([expected]);
      expect(kinds()).toEqual(['requeue']);
    });

    it.each<[string, bigint, readonly string[]]>([
      ['the one that showed it used', 90n, []],
      ['an older one', 95n, []],
      ['a newer one', 89n, ['requeue']],
    ])(
      'believes that it is unused by no final block but a newer one: %s',
      async (_, since, expected) => {
        use(undefined, since);
        await clock.pass(0);
        expect(kinds()).toEqual(expected);
      },
    );

    it('drops the answer once it is resolved, and asks no further', async () => {
      use();
      unresolved.resolved('a');
      await clock.pass(0);
      expect([askedAgain, kinds()]).toEqual([[], []]);
    });
  });
});

describe('UnresolvedUses', () => {
  const taken = { id: 'a', payment: aPayment(1) } as TakenSettlement;

  it.each([
    [USED, true],
    ['invalid_exact_evm_insufficient_balance', false],
    ['asset_suspended', false],
  ] as const)('a refusal for %s waits for finality: %s', (reason, holds) => {
    const uses = new UnresolvedUses();
    expect([uses.holds(taken, reason, 7n), uses.size]).toEqual([holds, holds ? 1 : 0]);
  });

  it('keeps the newest look at each, until it is resolved or the lane is reopened', () => {
    const uses = new UnresolvedUses();
    uses.holds(taken, USED, 7n);
    uses.holds(taken, USED, 8n);
    expect([uses.all, uses.get('a')?.sinceBlock]).toEqual([[{ taken, sinceBlock: 8n }], 8n]);
    uses.resolved('a');
    expect(uses.get('a')).toBeUndefined();
    uses.holds(taken, USED, 9n);
    uses.clear();
    expect(uses.size).toBe(0);
  });
});
