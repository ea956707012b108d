import { describe, expect, it } from '@jest/globals';
import { CachedPromise } from './cached-promise.js';

describe('Shared', () => {
  it('does the work once for all who ask meanwhile', async () => {
    let runs = 0;
    const shared = new CachedPromise(
      () => Promise.resolve((runs += 1)),
      0,
      () => 0,
    );
    expect(await Promise.all([shared.get(), shared.get(), shared.get()])).toEqual([1, 1, 1]);
    expect(await shared.get()).toBe(2);
  });

  it('keeps an answer for its time', async () => {
    let runs = 0;
    let now = 0;
    const shared = new CachedPromise(
      () => Promise.resolve((runs += 1)),
      100,
      () => now,
    );
    await shared.get();
    now = 99;
    expect(await shared.get()).toBe(1);
    now = 100;
    expect(await shared.get()).toBe(2);
  });

  it('does not keep a failure', async () => {
    const outcomes = [Promise.reject(new Error('away')), Promise.resolve('back')];
    const shared = new CachedPromise(
      () => outcomes.shift() ?? Promise.resolve('again'),
      100,
      () => 0,
    );
    await expect(shared.get()).rejects.toThrow('away');
    expect(await shared.get()).toBe('back');
  });
});
