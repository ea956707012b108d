import { describe, expect, it } from '@jest/globals';
import { SeededBytes } from './seeded-bytes.js';

describe('bytes from a seed', () => {
  const draw = (seed: string): string => new SeededBytes(seed).next(48).toString('hex');

  it('are the same for one seed and others for another', () => {
    expect(draw('one')).toBe(draw('one'));
    expect(draw('one')).not.toBe(draw('two'));
  });

  it('do not repeat, however they are drawn', () => {
    const bytes = new SeededBytes('one');
    const parts = [bytes.next(16), bytes.next(16), bytes.next(16)];
    expect(Buffer.concat(parts).toString('hex')).toBe(draw('one'));
    expect(new Set(parts.map((part) => part.toString('hex'))).size).toBe(3);
  });
});
