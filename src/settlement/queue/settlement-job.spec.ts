import { describe, expect, it } from '@jest/globals';
import { jobsFor, OpenJobs, SETTLEMENTS_OF_A_JOB, settlementsOf } from './settlement-job.js';

const claimed = (...ids: string[]) => ids.map((settlementId) => ({ settlementId }));

describe('jobs of settlements', () => {
  it('carry what was claimed together; a job of one as an earlier version reads it, too', () => {
    expect(jobsFor(claimed('a', 'b', 'c'))).toEqual([{ settlementIds: ['a', 'b', 'c'] }]);
    expect(jobsFor(claimed('a'))).toEqual([{ settlementIds: ['a'], settlementId: 'a' }]);
    expect(jobsFor([])).toEqual([]);
  });

  it('carry a bounded number, and leave none out', () => {
    const ids = Array.from({ length: 2 * SETTLEMENTS_OF_A_JOB + 1 }, (_, index) => `${index}`);
    const jobs = jobsFor(claimed(...ids));
    expect(jobs.map(({ settlementIds }) => settlementIds.length)).toEqual([
      SETTLEMENTS_OF_A_JOB,
      SETTLEMENTS_OF_A_JOB,
      1,
    ]);
    expect(jobs.flatMap(settlementsOf)).toEqual(ids);
  });

  it('are of one settlement where it is traced', () => {
    const traced = { settlementId: 'b', traceparent: '00-1-2-01' };
    expect(jobsFor([...claimed('a'), traced, ...claimed('c')])).toEqual([
      { settlementIds: ['a', 'c'] },
      { settlementIds: ['b'], settlementId: 'b', traceparent: '00-1-2-01' },
    ]);
  });

  it('are read as an earlier version wrote them', () => {
    expect(settlementsOf({ settlementId: 'a' })).toEqual(['a']);
  });
});

describe('open jobs', () => {
  const ends = (jobs: OpenJobs, ...ids: string[]) => {
    const seen: { end?: string } = {};
    void jobs.open(ids).then((end) => (seen.end = end));
    return seen;
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('end when the last of their settlements is finished', async () => {
    const jobs = new OpenJobs();
    const job = ends(jobs, 'a', 'b');
    jobs.finish(['b', 'unknown']);
    await turn();
    expect(job.end).toBeUndefined();
    expect(jobs.settlements).toEqual(['a']);
    jobs.finish(['a']);
    await turn();
    expect(job.end).toBe('finished');
    expect(jobs.settlements).toEqual([]);
  });

  it('end with what they share', async () => {
    const jobs = new OpenJobs();
    const [one, other] = [ends(jobs, 'a'), ends(jobs, 'a', 'b')];
    jobs.finish(['a']);
    await turn();
    expect([one.end, other.end]).toEqual(['finished', undefined]);
  });

  it('are given up whole, whatever of them is finished', async () => {
    const jobs = new OpenJobs();
    const [one, other] = [ends(jobs, 'a', 'b'), ends(jobs, 'c')];
    jobs.finish(['a']);
    jobs.giveUp();
    await turn();
    expect([one.end, other.end]).toEqual(['given_up', 'given_up']);
    expect(jobs.settlements).toEqual([]);
  });
});
