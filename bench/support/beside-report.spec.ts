import { describe, expect, it } from '@jest/globals';
import { besideRows, type BesideRun, besideTable } from './beside-report.js';

const run = (who: string, more: Partial<BesideRun> = {}): BesideRun => ({
  who,
  concurrency: 300,
  perSecond: 100,
  completed: 2,
  failed: 0,
  failures: {},
  seconds: 1,
  latencies: [10, 20],
  processorSeconds: 0.004,
  redisSeconds: undefined,
  residentMiB: 40,
  gas: 90_000,
  ...more,
});

describe('what facilitators cost beside each other', () => {
  it('is processor time for 1000 payments over all rounds, Redis apart', () => {
    const ours = run('ours', { redisSeconds: 0.001 });
    const [row] = besideRows([
      ours,
      { ...ours, perSecond: 300, processorSeconds: 0.008, residentMiB: 50 },
    ]);
    expect(row).toMatchObject({ processorSeconds: 3, redisSeconds: 0.5, residentMiB: 50 });
    expect(row).toMatchObject({ perSecond: { median: 200, least: 100, most: 300 }, gas: 45_000 });
  });

  it('counts only what was answered as it should be', () => {
    const [row] = besideRows([run('rs', { completed: 1, failed: 9, latencies: [5] })]);
    expect(row).toMatchObject({ processorSeconds: 4, failed: 9, asked: 10 });
  });

  it('leaves out what cannot be told', () => {
    const rows = besideRows([
      run('url', { processorSeconds: undefined, residentMiB: undefined }),
      run('none', { completed: 0, failed: 3, latencies: [] }),
    ]);
    const [, cells] = besideTable(rows);
    expect(cells[0]?.slice(6)).toEqual(['0 of 2', '', '', '45000', '']);
    expect(cells[1]?.slice(6)).toEqual(['3 of 3', '', '', '', '40']);
  });
});
