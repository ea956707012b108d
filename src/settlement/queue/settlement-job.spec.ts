import { describe, expect, it } from '@jest/globals';
import { jobsFor, OpenJobs, readJob, SETTLEMENTS_OF_A_JOB } from './settlement-job.js';

const claimed = (...ids: string[]) => ids.map((settlementId) => ({ settlementId }));

describe('jobs of settlements', () => {
  it('carry what was claimed together', () => {
    expect(jobsFor(claimed('a', 'b', 'c'))).toEqual([{ settlementIds: ['a', 'b', 'c'] }]);
    expect(jobsFor(claimed('a'))).toEqual([{ settlementIds: ['a'] }]);
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
    expect(jobs.flatMap(({ settlementIds }) => settlementIds)).toEqual(ids);
  });

  it('are of one settlement where it is traced', () => {
    const traced = { settlementId: 'b', traceparent: '00-1-2-01' };
    expect(jobsFor([...claimed('a'), traced, ...claimed('c')])).toEqual([
      { settlementIds: ['a', 'c'] },
      { settlementIds: ['b'], traceparent: '00-1-2-01' },
    ]);
  });
});

describe('what lies in a queue', () => {
  const id = (letter: string): string => letter.repeat(43);
  const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;

  it('is read as it was written', () => {
    const traced = { settlementId: id('b'), traceparent };
    const jobs = jobsFor([{ settlementId: id('a') }, { settlementId: id('c') }, traced]);
    expect(jobs.map((job) => readJob(JSON.parse(JSON.stringify(job))))).toEqual([
      { settlementIds: [id('a'), id('c')] },
      { settlementIds: [id('b')], traceparent },
    ]);
    expect(readJob({ settlementIds: [id('a')] })).toEqual({ settlementIds: [id('a')] });
  });

  it.each([
    ['nothing', undefined],
    ['no object', 'abc'],
    ['an empty object', {}],
    ['no settlement', { settlementIds: [] }],
    ['a text for a list', { settlementIds: id('a') }],
    ['a number', { settlementIds: [7] }],
    ['a malformed id', { settlementIds: [id('a'), 'x402:{56}:epoch'] }],
    ['a name that is too long', { settlementIds: [id('a') + 'a'] }],
    ['more than a job may carry', { settlementIds: Array<string>(65).fill(id('a')) }],
  ])('is no job where it is %s', (_, data) => {
    expect(readJob(data)).toBeUndefined();
  });

  it('ignores a malformed trace', () => {
    const settlementIds = [id('a')];
    expect(readJob({ settlementIds, traceparent: { a: 1 } })).toEqual({ settlementIds });
    expect(readJob({ settlementIds, traceparent: '00-1-2-01' })).toEqual({ settlementIds });
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
