import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Request } from 'express';
import { bodyPieces, readBody } from './body-reader.js';

const MIB = 1_048_576;

/** Ways in which the hub reads a body of a request. */
const WAYS = {
  'as it comes': async (request: Request) => {
    const pieces = bodyPieces(request, 64 * MIB);
    while ((await pieces.next()).done !== true);
  },
  whole: async (request: Request) => {
    await readBody(request, 64 * MIB);
  },
};

describe.each(Object.entries(WAYS))('a body that is read %s', (_how, read) => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /**
   * The answer to a sender of so many bytes every so often, for five minutes at most; and its time.
   */
  async function heard(bytes: number, everyMs: number, first = 0): Promise<string> {
    const request = new PassThrough({ highWaterMark: 64 * MIB });
    let outcome = '';
    const began = Date.now();
    read(request as unknown as Request).then(
      () => (outcome = 'taken'),
      (error: unknown) => (outcome = `${String(error)} ${Date.now() - began}`),
    );
    if (first > 0) request.write(Buffer.alloc(first));
    for (let passed = 0; passed < 300_000 && outcome === ''; passed += everyMs) {
      await jest.advanceTimersByTimeAsync(everyMs);
      request.write(Buffer.alloc(bytes));
    }
    request.end();
    await jest.advanceTimersByTimeAsync(1);
    return outcome;
  }

  it('has to go on: less time for less progress', async () => {
    expect(await heard(1, 1000)).toMatch(/did not arrive in time 10000$/);
    expect(await heard(1, 9000)).toMatch(/did not arrive in time 10000$/);
    expect(await heard(1, 1000, 32 * MIB)).toMatch(/did not arrive in time 1\d{4}$/);
    expect(await heard(5000, 1000)).toMatch(/did not arrive in time 10000$/);
  });

  it('may take its time on a slow line', async () => {
    expect(await heard(10_000, 1000)).toBe('taken');
  });
});
