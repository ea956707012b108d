import { describe, expect, it } from '@jest/globals';
import type { ScriptReply } from '../../platform/redis/redis-scripts.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { JointSteps } from './ledger-scripts.js';
import { loadJointScript, type ScriptCall } from './script-files.js';

const LOOK = loadJointScript('look');

describe('JointSteps', () => {
  const calls: ScriptCall[] = [];

  /** Steps on a Redis that answers the calls with these replies. */
  function stepsOn(...replies: readonly (() => ScriptReply)[]): JointSteps {
    calls.length = 0;
    return new JointSteps(LOOK, (call) => {
      calls.push(call);
      const reply = replies[calls.length - 1];
      return new Promise((resolve) => {
        resolve(reply?.() ?? null);
      });
    });
  }

  it('sends the steps of one turn in one call, each with its own keys and arguments', async () => {
    const steps = stepsOn(() => [
      [1, 'first'],
      [1, ['second', null]],
    ]);
    const both = [steps.add(['k1', 'k2'], ['a']), steps.add(['k3'], [])];
    expect(await Promise.all(both)).toEqual(['first', ['second', null]]);
    expect(calls).toEqual([{ script: LOOK, keys: ['k1', 'k2', 'k3'], args: [2, 2, 1, 'a', 1, 0] }]);
  });

  it('sends those of the next turn in another call', async () => {
    const steps = stepsOn(
      () => [[1, 'first']],
      () => [[1, 'second']],
    );
    expect(await steps.add([], [])).toBe('first');
    expect(await steps.add([], [])).toBe('second');
  });

  it('splits more than 32 of one turn', async () => {
    const ones = (count: number) => (): ScriptReply =>
      Array.from({ length: count }, (_, n): ScriptReply => [1, n]);
    const steps = stepsOn(ones(32), ones(1));
    const all = Array.from({ length: 33 }, () => steps.add([], []));
    expect(await Promise.all(all)).toEqual([...Array.from({ length: 32 }, (_, n) => n), 0]);
    expect(calls.map(({ args }) => args[0])).toEqual([32, 1]);
  });

  it('fails a step that Redis refused, and no other one', async () => {
    const steps = stepsOn(() => [
      [0, 'OOM command not allowed'],
      [1, 'second'],
    ]);
    const both = [steps.add([], []), steps.add([], [])] as const;
    await expect(both[0]).rejects.toBeInstanceOf(RedisUnavailableError);
    expect(await both[1]).toBe('second');
  });

  it('fails every step of a call that failed, and serves the next one', async () => {
    const lost = new RedisUnavailableError('look', 'the connection was lost');
    const steps = stepsOn(
      () => {
        throw lost;
      },
      () => [[1, 'later']],
    );
    const results = await Promise.allSettled([steps.add([], []), steps.add([], [])]);
    expect(results.map((one) => one.status === 'rejected' && (one.reason as unknown))).toEqual([
      lost,
      lost,
    ]);
    expect(await steps.add([], [])).toBe('later');
  });

  it('fails a step that has no reply, in place of leaving it open', async () => {
    const steps = stepsOn(() => [[1, 'first']]);
    const [first, second] = await Promise.allSettled([steps.add([], []), steps.add([], [])]);
    expect(first).toEqual({ status: 'fulfilled', value: 'first' });
    expect(second.status).toBe('rejected');
  });
});
