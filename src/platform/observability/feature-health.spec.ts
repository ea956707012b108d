import { describe, expect, it } from '@jest/globals';
import { HealthIndicatorService } from '@nestjs/terminus';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { FeatureHealth, type HealthReport } from './feature-health.js';

class Lanes extends FeatureHealth {
  readonly name: string = 'lanes';
  constructor(readonly report: () => Promise<HealthReport>) {
    super();
  }
}
class Counts extends Lanes {
  override readonly name = 'counts';
  override readonly informsOnly = true;
}

const indicators = new HealthIndicatorService();
const fails = (): Promise<never> => Promise.reject(new Error('a text of another system'));
const away = (): Promise<never> => Promise.reject(new RedisUnavailableError('look', 'away'));
const hangs = (): Promise<never> => new Promise(() => undefined);

describe('the health of a feature', () => {
  it.each([
    ['fails', fails, 'no_answer'],
    ['has no Redis', away, 'redis_unreachable'],
    ['does not answer', hangs, 'no_answer'],
  ])('is down where it %s, and says no more than a code', async (_, report, code) => {
    expect(await new Lanes(report).check(indicators)).toEqual({ lanes: { status: 'down', code } });
  });

  it.each([
    ['fails', fails, 'no_answer'],
    ['has no Redis', away, 'redis_unreachable'],
    ['does not answer', hangs, 'no_answer'],
  ])('does not take the deployment down where it only counts and %s', async (_, report, code) => {
    expect(await new Counts(report).check(indicators)).toEqual({ counts: { status: 'up', code } });
  });
});
