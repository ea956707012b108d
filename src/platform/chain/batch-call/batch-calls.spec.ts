import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Address, Hex } from 'viem';
import type { RpcCaller } from '../rpc/rpc-caller.js';
import type { RpcOutcome, SilenceCause } from '../rpc/rpc-outcome.js';
import { decodeBatchCall, encodeBatchCall, gasOfCall, type TriedCall } from './batch-call.js';
import { type BatchCallResult, BatchCalls } from './batch-calls.js';

const TOKEN: Address = `0x${'11'.repeat(20)}`;
const ACCOUNT: Address = `0x${'22'.repeat(20)}`;
const LANE = { address: `0x${'55'.repeat(20)}`, gasPriceWei: 5n, balanceWei: 10n ** 18n } as const;
const aCall = (more: Partial<TriedCall> = {}): TriedCall => ({
  to: TOKEN,
  data: `0x${'ab'.repeat(300)}`,
  gas: 270_000n,
  ...more,
});

const error = (code: number): RpcOutcome => ({
  kind: 'error',
  error: { code, message: '', data: undefined },
});

describe('the answer to a joint call', () => {
  const asked = { calls: [aCall(), aCall()], accounts: [ACCOUNT] };

  it('is a mark and a byte for each question', () => {
    expect(decodeBatchCall('0x01010001', asked)).toEqual({
      returned: [true, false],
      hasCode: [true],
    });
  });

  it.each<[string, unknown]>([
    ['nothing', '0x'],
    ['of fewer questions', '0x010100'],
    ['of more questions', '0x0101000101'],
    ['without the mark', '0x00010101'],
    ['something else than yes and no', '0x01010201'],
    ['no hex', 'yes'],
    ['no string', 1],
  ])('is rejected where it is %s', (_, value) => {
    expect(decodeBatchCall(value, asked)).toBeUndefined();
  });
});

describe('questions to one node', () => {
  interface Asked {
    readonly call: Readonly<Record<string, Hex | undefined>>;
    readonly override: unknown;
    readonly timeoutMs: number;
  }
  let asked: Asked[];
  let answers: ((outcome: RpcOutcome) => void)[];
  let joint: BatchCalls;

  beforeEach(() => {
    asked = [];
    answers = [];
    const endpoint: Pick<RpcCaller, 'request'> = {
      request: (_, [call, , override], timeoutMs) => {
        asked.push({ call: call as Asked['call'], override, timeoutMs });
        return new Promise((resolve) => answers.push(resolve));
      },
    };
    joint = new BatchCalls(endpoint as RpcCaller);
  });

  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const returns = (call = aCall()) => joint.returns(call, LANE, 1000);
  const many = (count: number) => Array.from({ length: count }, () => returns());
  const words = (questions: readonly Promise<BatchCallResult>[]) => Promise.all(questions);
  const answer = (index: number, outcome: RpcOutcome): Promise<void> => {
    answers[index]?.(outcome);
    return turn();
  };
  const result = (value: unknown): RpcOutcome => ({ kind: 'result', value });
  const silent = (cause: SilenceCause): RpcOutcome => ({ kind: 'silent', cause });

  it('that come together are one call, and each has its own word', async () => {
    const questions = [returns(), joint.returns(aCall(), LANE, 2000)];
    await turn();
    const program = encodeBatchCall({ calls: [aCall(), aCall()], accounts: [] });
    expect(asked.map(({ call }) => [call['data'], call['to'], call['from']])).toEqual([
      [program, undefined, LANE.address],
    ]);
    expect(asked[0]).toMatchObject({ override: undefined, timeoutMs: 2000 });
    await answer(0, result('0x010001'));
    expect(await words(questions)).toEqual([false, true]);
  });

  it('about accounts wait for no code of strangers: they have a call of their own', async () => {
    const calls = many(2);
    const looks = [joint.hasCode(ACCOUNT, 300), joint.hasCode(TOKEN, 300)];
    await turn();
    const program = encodeBatchCall({ calls: [], accounts: [ACCOUNT, TOKEN] });
    expect(asked[1]).toMatchObject({ call: { data: program }, timeoutMs: 300 });
    await answer(1, result('0x010001'));
    expect(await words(looks)).toEqual([false, true]);
    await answer(0, { kind: 'silent', cause: 'timeout' });
    expect(await words(calls)).toEqual(['alone', 'alone']);
    for (const account of [ACCOUNT, TOKEN]) void joint.hasCode(account, 300);
    await turn();
    expect(asked).toHaveLength(3);
  });

  it('of several lanes come from the one that pays most: a price below the block’s fails for all', async () => {
    for (const gasPriceWei of [5n, 9n, 7n]) {
      void joint.returns(aCall(), { ...LANE, gasPriceWei }, 1000);
    }
    await turn();
    expect(asked[0]?.call['gasPrice']).toBe('0x9');
  });

  it('a lone call with a look at one account is sent back: it would gain nothing', async () => {
    const questions = [returns(), joint.hasCode(ACCOUNT, 1000)];
    expect(await words(questions)).toEqual(['alone', 'alone']);
    expect(asked).toEqual([]);
  });

  it('that come while four are under way gather, fifty in one', async () => {
    for (let flight = 0; flight < 4; flight += 1) {
      void many(2);
      await turn();
    }
    const waiting = many(60);
    await turn();
    expect(asked).toHaveLength(4);
    await answer(0, result('0x010101'));
    await answer(1, result('0x010101'));
    expect(asked).toHaveLength(6);
    const most = 16_000_000n / gasOfCall(aCall());
    expect(Number(most)).toBeLessThan(50);
    await answer(4, result(`0x01${'01'.repeat(Number(most))}`));
    await answer(5, result(`0x01${'00'.repeat(60 - Number(most))}`));
    const verdicts = await words(waiting);
    expect(verdicts.filter((word) => word === true)).toHaveLength(Number(most));
    expect(verdicts.filter((word) => word === false)).toHaveLength(60 - Number(most));
  });

  it('wait, so many of them, and further ones are not sent', async () => {
    const questions = many(4001);
    expect(await questions.at(-1)).toBe('not_sent');
    await turn();
  });

  it('of small calls are fifty in one at most', async () => {
    void Array.from({ length: 51 }, () => returns(aCall({ gas: 100_000n, data: '0xab' })));
    await turn();
    // The one that is left is by itself.
    expect(asked).toHaveLength(1);
  });

  it.each<[string, Partial<TriedCall>]>([
    ['takes more gas than it leaves for others', { gas: 2_000_000n }],
    ['takes more bytes than it leaves for others', { data: `0x${'ab'.repeat(6000)}` }],
    ['has no gas left to run with', { gas: 0n }],
    ['is half a byte too long', { data: '0xabc' }],
  ])('one that %s is asked alone', async (_, more) => {
    const questions = [returns(aCall(more)), ...many(2)];
    await turn();
    await answer(0, result('0x010101'));
    expect(await words(questions)).toEqual(['alone', true, true]);
  });

  it('come from a lane that can pay for all of them, though it could not', async () => {
    const poor = { ...LANE, balanceWei: 300_000n * 5n };
    void [aCall(), aCall()].map((call) => joint.returns(call, poor, 1000));
    await turn();
    expect(asked[0]?.override).toHaveProperty([LANE.address, 'balance']);
  });

  it.each<[string, RpcOutcome, BatchCallResult, boolean]>([
    ['an error', error(-32_000), 'alone', true],
    ['something else', result('0x6080'), 'alone', true],
    ['nothing in time', silent('timeout'), 'alone', true],
    ['that too much was asked', error(-32_005), 'silent', false],
    ['with too many requests', error(429), 'silent', false],
    ['nothing, for it is away', silent('connection'), 'silent', false],
    ['nothing, for too much was asked of it', silent('rate_limited'), 'silent', false],
    ['nothing, for it was not asked', silent('not_sent'), 'not_sent', false],
  ])('a node that answers %s', async (_, outcome, word, rests) => {
    const questions = many(3);
    await turn();
    await answer(0, outcome);
    expect(await words(questions)).toEqual([word, word, word]);
    // Whether the next ones are asked alone for a while.
    const next = many(2);
    await turn();
    expect(asked).toHaveLength(rests ? 1 : 2);
    if (rests) expect(await words(next)).toEqual(['alone', 'alone']);
  });

  describe('to a node that fails', () => {
    const fail = async (): Promise<void> => {
      const questions = many(2);
      await turn();
      await answer(asked.length - 1, error(-32_000));
      expect(await words(questions)).toEqual(['alone', 'alone']);
    };
    const isAsked = async (): Promise<boolean> => {
      const before = asked.length;
      void many(2);
      await turn();
      return asked.length > before;
    };

    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    });
    afterEach(() => {
      jest.useRealTimers();
    });

    it('are alone for a second, then for twice as long each time, a minute at most', async () => {
      for (const rest of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
        await fail();
        jest.advanceTimersByTime(rest - 1);
        expect(await isAsked()).toBe(false);
        jest.advanceTimersByTime(1);
      }
    });

    it('are tried with one round, without a queue behind it, until it answers', async () => {
      await fail();
      jest.advanceTimersByTime(1000);
      const trial = many(2);
      await turn();
      expect(asked).toHaveLength(2);
      expect(await words(many(2))).toEqual(['alone', 'alone']);
      await answer(1, result('0x010101'));
      expect(await words(trial)).toEqual([true, true]);
      expect(await isAsked()).toBe(true);
      expect(await isAsked()).toBe(true);
    });

    it('are alone where they gathered while it failed', async () => {
      for (let flight = 0; flight < 4; flight += 1) {
        void many(2);
        await turn();
      }
      const gathered = many(30);
      await turn();
      await answer(0, silent('timeout'));
      expect(await words(gathered)).toEqual(gathered.map(() => 'alone'));
      expect(asked).toHaveLength(4);
    });
  });
});
