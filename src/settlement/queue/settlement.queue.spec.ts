import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Queue } from 'bullmq';
import { NO_TRACES } from './job-observer.js';
import { SettlementQueue } from './settlement.queue.js';
import type { SettlementJob } from './settlement-job.js';

type Added = Parameters<Queue<SettlementJob>['addBulk']>[0];
type Answer = () => Promise<never[]>;

const taken: Answer = () => Promise.resolve([]);
const away: Answer = () => Promise.reject(new Error('away'));
const turn = () => new Promise((resolve) => setImmediate(resolve));

function queue(traceparent?: string) {
  const calls: Added[] = [];
  const logged: string[] = [];
  const redis = { answer: taken };
  const addBulk = (jobs: Added) => {
    calls.push(jobs);
    return redis.answer();
  };
  const log = {
    failed: () => void logged.push('failed'),
    recovered: () => void logged.push('recovered'),
  };
  const observer = { ...NO_TRACES, traceOfRequest: () => traceparent };
  const jobs = new SettlementQueue({ addBulk }, log, observer);
  const add = async (...ids: string[]): Promise<void> => {
    for (const id of ids) jobs.add(id);
    await turn();
    await turn();
  };
  return { jobs, calls, logged, redis, add };
}

describe('the queue of settlements', () => {
  it('takes those of one turn in one job, also where they come one after another', async () => {
    const { jobs, calls } = queue();
    jobs.add('a');
    await Promise.resolve().then(() => {
      jobs.add('b');
    });
    await turn();
    expect(calls.flat().map(({ data }) => data)).toEqual([{ settlementIds: ['a', 'b'] }]);
    expect(calls.flat()[0]?.opts).not.toHaveProperty('jobId');
  });

  it('names a job of one by what it carries, so that it is there once', async () => {
    const { calls, add } = queue();
    await add('a');
    await add('b');
    expect(calls.map(([job]) => job?.opts?.jobId)).toEqual(['a', 'b']);
  });

  it('gives what is traced a job of its own', async () => {
    const { calls, add } = queue('00-1-2-01');
    await add('a', 'b');
    expect(calls.flat().map(({ data }) => data)).toEqual([
      { settlementIds: ['a'], traceparent: '00-1-2-01' },
      { settlementIds: ['b'], traceparent: '00-1-2-01' },
    ]);
  });
});

describe('a queue whose Redis is away', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('says so once, and once that it is back', async () => {
    const { logged, redis, calls, add } = queue();
    redis.answer = away;
    await add('a');
    await add('b');
    expect(logged).toEqual(['failed']);
    redis.answer = taken;
    await add('c');
    await add('d');
    expect(logged).toEqual(['failed', 'recovered']);
    expect(calls).toHaveLength(4);
  });

  it('gets nothing more while it owes an answer for a second', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const { logged, redis, calls, add } = queue();
    let thaw = (): void => undefined;
    redis.answer = () =>
      new Promise((resolve) => {
        thaw = () => {
          resolve([]);
        };
      });
    await add('a');
    await jest.advanceTimersByTimeAsync(1000);
    expect(logged).toEqual(['failed']);
    await add('b');
    expect(calls).toHaveLength(1);
    redis.answer = taken;
    thaw();
    await turn();
    expect(logged).toEqual(['failed', 'recovered']);
    await add('c');
    expect(calls.flat().map(({ data }) => data.settlementIds)).toEqual([['a'], ['c']]);
  });

  it('is asked again when what it owed has failed', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const { logged, redis, calls, add } = queue();
    let lose = (): void => undefined;
    redis.answer = () =>
      new Promise((_, reject) => {
        lose = () => {
          reject(new Error('closed'));
        };
      });
    await add('a');
    await jest.advanceTimersByTimeAsync(1000);
    redis.answer = taken;
    lose();
    await turn();
    expect(logged).toEqual(['failed']);
    await add('b');
    expect(calls).toHaveLength(2);
    expect(logged).toEqual(['failed', 'recovered']);
  });
});
