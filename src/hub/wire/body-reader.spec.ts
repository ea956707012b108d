import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Request } from 'express';
import { FREE_BODY_BYTES, LONG_BODIES } from '../../platform/http/byte-budget.js';
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

describe('long bodies at the hub', () => {
  it('take from the one budget of all doors, and are refused where other doors have used it up', async () => {
    const before = LONG_BODIES.left;
    const send = async (bytes: number): Promise<string> => {
      const request = new PassThrough({ highWaterMark: MIB });
      const response = new PassThrough();
      Object.assign(request, { res: response });
      request.end(Buffer.alloc(bytes));
      const answer = await readBody(request as unknown as Request, MIB).then(
        (body) => `${body.length}, ${before - LONG_BODIES.left} taken`,
        (error: unknown) => String(error),
      );
      response.emit('close');
      return answer;
    };
    expect(await send(FREE_BODY_BYTES + 10)).toBe(`${FREE_BODY_BYTES + 10}, 10 taken`);
    expect(LONG_BODIES.left).toBe(before);
    LONG_BODIES.take(before - 9);
    expect(await send(FREE_BODY_BYTES + 10)).toContain('rate limit');
    LONG_BODIES.giveBack(before - 9);
    expect(LONG_BODIES.left).toBe(before);
  });
});
