import { describe, expect, it } from '@jest/globals';
import type { Queue } from 'bullmq';
import { SettlementQueue } from './settlement.queue.js';
import type { SettlementJob } from './settlement-job.js';

type Added = Parameters<Queue<SettlementJob>['addBulk']>[0];

function queue(traceparent?: string): {
  readonly jobs: SettlementQueue;
  readonly calls: Added[];
} {
  const calls: Added[] = [];
  const addBulk = (jobs: Added) => {
    calls.push(jobs);
    return Promise.resolve([]);
  };
  const observer = { traceOfRequest: () => traceparent };
  return {
    jobs: new SettlementQueue({ addBulk }, observer),
    calls,
  };
}

describe('the queue of settlements', () => {
  it('takes those of one turn in one job, also where they come one after another', async () => {
    const { jobs, calls } = queue();
    await Promise.all([jobs.add('a'), Promise.resolve().then(() => jobs.add('b'))]);
    expect(calls.flat().map(({ data }) => data)).toEqual([{ settlementIds: ['a', 'b'] }]);
    expect(calls.flat()[0]?.opts).not.toHaveProperty('jobId');
  });

  it('names a job of one by what it carries, so that it is there once', async () => {
    const { jobs, calls } = queue();
    await jobs.add('a');
    await jobs.add('b');
    expect(calls.map(([job]) => job?.opts?.jobId)).toEqual(['a', 'b']);
  });

  it('gives what is traced a job of its own', async () => {
    const { jobs, calls } = queue('00-1-2-01');
    await Promise.all([jobs.add('a'), jobs.add('b')]);
    expect(calls.flat().map(({ data }) => data)).toEqual([
      { settlementIds: ['a'], settlementId: 'a', traceparent: '00-1-2-01' },
      { settlementIds: ['b'], settlementId: 'b', traceparent: '00-1-2-01' },
    ]);
  });

  it('tells everybody who waits that Redis was away', async () => {
    const addBulk = () => Promise.reject(new Error('away'));
    const jobs = new SettlementQueue({ addBulk });
    const ends = await Promise.allSettled([jobs.add('a'), jobs.add('b')]);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
