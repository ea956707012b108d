import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../../../../test/builders/platform/concurrency/clock.js';
import { InclusionRate } from './inclusion-rate.js';

describe('how fast a lane has been', () => {
  let clock: TestClock;
  let rate: InclusionRate;

  beforeEach(() => {
    clock = new TestClock();
    rate = new InclusionRate(clock);
  });

  /** One second in which so many were included. */
  async function second(settlements: number): Promise<void> {
    await clock.pass(1000);
    rate.noteInclusion(500, settlements);
  }

  it('is not known before anything was included: a block a second is assumed', () => {
    expect(rate.inclusionMs).toBe(0);
    expect(rate.perSecond(4, 1)).toBe(4);
    expect(rate.perSecond(4, 25)).toBe(20);
  });

  it('begins with the first inclusion, and follows slowly', () => {
    rate.noteInclusion(1000, 1);
    expect(rate.inclusionMs).toBe(1000);
    rate.noteInclusion(2000, 1);
    expect(rate.inclusionMs).toBe(1100);
  });

  it('is what it has shown, where that is more than its window lets through', async () => {
    await second(300);
    expect(rate.perSecond(1, 1)).toBe(300);
    await second(500);
    expect(rate.perSecond(1, 1)).toBe(500);
  });

  it('is lost slowly: what it has done it can do again', async () => {
    await second(300);
    await second(0);
    expect(rate.perSecond(1, 1)).toBe(270);
  });

  it('counts what came within one second together', async () => {
    await clock.pass(600);
    rate.noteInclusion(500, 100);
    await clock.pass(400);
    rate.noteInclusion(500, 100);
    expect(rate.perSecond(1, 1)).toBe(200);
  });

  it('is at least what its window lets through', async () => {
    await second(10);
    expect(rate.perSecond(64, 1)).toBe(128);
  });
});
