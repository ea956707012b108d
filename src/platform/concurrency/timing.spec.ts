import { describe, expect, it } from '@jest/globals';
import { withTimeout } from './timing.js';

const never = new Promise<never>(() => undefined);

describe('within', () => {
  it('gives what came in time', async () => {
    expect(await withTimeout(60_000, Promise.resolve(7))).toEqual({ inTime: true, value: 7 });
  });

  it('says when nothing came', async () => {
    expect(await withTimeout(1, never)).toEqual({ inTime: false });
    expect(await withTimeout(-1, never)).toEqual({ inTime: false });
  });

  it('passes a failure on', async () => {
    await expect(withTimeout(60_000, Promise.reject(new Error('away')))).rejects.toThrow('away');
  });
});
