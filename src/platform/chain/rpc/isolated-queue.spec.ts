import { describe, expect, it } from '@jest/globals';
import { IsolatedQueue, type IsolatedQueueOptions, type QueuedCall } from './isolated-queue.js';
import type { RpcOutcome } from './rpc-outcome.js';

const RESULT: RpcOutcome = { kind: 'result', value: '0x' };
const SILENCE: RpcOutcome = { kind: 'silent', cause: 'timeout' };

const options = (overrides: Partial<IsolatedQueueOptions> = {}): IsolatedQueueOptions => ({
  batchMax: () => 4,
  flightsMax: 1,
  gasPerSecond: 1_000_000,
  ...overrides,
});

/** A queue before a node that notes what travelled together. */
function aQueue(
  answer: (methods: readonly string[]) => readonly RpcOutcome[] | 'batch_refused',
  given = options(),
) {
  const flights: string[][] = [];
  const queue = new IsolatedQueue((calls: readonly QueuedCall[]) => {
    const methods = calls.map(({ method }) => method);
    flights.push(methods);
    return Promise.resolve(answer(methods));
  }, given);
  const ask = (method: string, subject: string, gas = 1n, timeoutMs = 2000): Promise<RpcOutcome> =>
    new Promise((resolve) => {
      queue.add({ method, params: [], timeoutMs, resolve }, { kind: 'new', subject, gas });
    });
  return { flights, queue, ask };
}

const allGood = (methods: readonly string[]): readonly RpcOutcome[] => methods.map(() => RESULT);

describe('isolated calls', () => {
  it('go one of each subject at a time, so that many of one do not hold up another', async () => {
    const { flights, ask } = aQueue(allGood);
    await Promise.all([ask('a1', 'a'), ask('a2', 'a'), ask('a3', 'a'), ask('b1', 'b')]);
    expect(flights).toEqual([['a1', 'b1'], ['a2'], ['a3']]);
  });

  it('are asked again alone when they had no answer in company', async () => {
    const { flights, ask } = aQueue((methods) =>
      methods.map((method) => (methods.length > 1 || method === 'slow' ? SILENCE : RESULT)),
    );
    const [slow, good] = await Promise.all([ask('slow', 'a'), ask('good', 'b')]);
    expect([slow, good]).toEqual([SILENCE, RESULT]);
    expect(flights).toEqual([['slow', 'good'], ['slow'], ['good']]);
  });

  it('are given up unsent, not silent, when there is no room to ask them again alone', async () => {
    const { ask } = aQueue((methods) => {
      if (methods.length > 1) {
        // While they are under way as many more come as may wait.
        for (let index = 0; index < 32; index += 1) void ask(`late${index}`, 'a');
        return methods.map(() => SILENCE);
      }
      return methods.map(() => RESULT);
    });
    const [crowded, good] = await Promise.all([ask('crowded', 'a'), ask('good', 'b')]);
    expect(crowded).toEqual({ kind: 'silent', cause: 'not_sent' });
    expect(good).toEqual(RESULT);
  });

  it('have their whole time once more when they are asked alone', async () => {
    const spent = 60;
    const slow = new IsolatedQueue(async (calls) => {
      if (calls.length === 1) return [RESULT];
      await new Promise((resolve) => setTimeout(resolve, spent));
      return calls.map(() => SILENCE);
    }, options());
    const waited = ['a', 'b'].map(
      (subject) =>
        new Promise<RpcOutcome>((resolve) => {
          slow.add(
            { method: subject, params: [], timeoutMs: spent, resolve },
            { kind: 'new', subject, gas: 1n },
          );
        }),
    );
    expect(await Promise.all(waited)).toEqual([RESULT, RESULT]);
  });

  it('go alone to a node that takes no batches', async () => {
    const { flights, ask } = aQueue((methods) =>
      methods.length > 1 ? 'batch_refused' : allGood(methods),
    );
    expect(await Promise.all([ask('a', 'a'), ask('b', 'b')])).toEqual([RESULT, RESULT]);
    expect(flights).toEqual([['a', 'b'], ['a'], ['b']]);
  });

  it('stay within their budget of gas', async () => {
    const { ask } = aQueue(allGood, options({ batchMax: () => 1 }));
    const begunAt = performance.now();
    // A second's worth is there; the second call is begun on what is left, the third has to wait.
    await Promise.all([ask('a', 'a', 900_000n), ask('b', 'b', 300_000n), ask('c', 'c')]);
    expect(performance.now() - begunAt).toBeGreaterThan(150);
  });

  it('are given up unsent when they have waited as long as they may take', async () => {
    const { flights, ask } = aQueue(allGood, options({ batchMax: () => 1 }));
    const [, late] = await Promise.all([ask('a', 'a', 5_000_000n), ask('b', 'b', 1n, 200)]);
    expect(late).toEqual({ kind: 'silent', cause: 'not_sent' });
    expect(flights).toEqual([['a']]);
  });

  it('wait in bounded numbers, of one subject and of all', async () => {
    const { ask, queue } = aQueue(allGood, options({ gasPerSecond: 0 }));
    const ofOne = Array.from({ length: 33 }, () => ask('a', 'a'));
    expect(await ofOne[32]).toEqual({ kind: 'silent', cause: 'not_sent' });
    const ofMany = Array.from({ length: 1000 }, (_, index) => ask('b', `b${index}`));
    expect(await ofMany[999]).toEqual({ kind: 'silent', cause: 'not_sent' });
    queue.close();
    expect(await ofMany[0]).toEqual({ kind: 'silent', cause: 'not_sent' });
  });
});
