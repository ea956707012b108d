import { describe, expect, it } from '@jest/globals';
import { Counter, Histogram, Registry } from 'prom-client';
import { toOpenMetrics, wantsOpenMetrics } from './open-metrics.js';

describe('OpenMetrics', () => {
  it('names a counter without its suffix in the metadata alone, and ends with EOF', async () => {
    const registers = [new Registry()];
    new Counter({ name: 'a_total', help: 'Counts a_total things.', registers }).inc(2);
    new Histogram({ name: 'b_seconds', help: 'Takes.', buckets: [1], registers }).observe(0.5);
    expect(toOpenMetrics((await registers[0]?.metrics()) ?? '')).toBe(
      [
        '# HELP a Counts a_total things.',
        '# TYPE a counter',
        'a_total 2',
        '# HELP b_seconds Takes.',
        '# TYPE b_seconds histogram',
        'b_seconds_bucket{le="1"} 1',
        'b_seconds_bucket{le="+Inf"} 1',
        'b_seconds_sum 0.5',
        'b_seconds_count 1',
        '# EOF',
        '',
      ].join('\n'),
    );
  });

  it('is what a scraper gets that names it', () => {
    const prometheus =
      'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
    expect(wantsOpenMetrics(prometheus)).toBe(true);
    expect(wantsOpenMetrics('text/plain;version=0.0.4')).toBe(false);
    expect(wantsOpenMetrics(undefined)).toBe(false);
  });
});
