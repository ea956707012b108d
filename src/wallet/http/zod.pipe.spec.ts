import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ZodPipe } from './zod.pipe.js';

const pipe = new ZodPipe(z.strictObject({ name: z.string(), limit: z.int().default(20) }));

describe('what a tool takes as well', () => {
  it('is the same by HTTP, with its defaults', () => {
    expect(pipe.transform({ name: 'a' }, { type: 'body' })).toEqual({ name: 'a', limit: 20 });
  });

  it.each<[unknown, RegExp]>([
    [{ name: 1 }, /^name: must be text$/],
    [{ limit: 'x' }, /^name: is required; limit: must be a number$/],
    [{ name: 'a', more: 1 }, /^The body: .*more/],
    ['text', /^The body: /],
  ])('is refused with what is wrong: %j', (body, message) => {
    expect(() => pipe.transform(body, { type: 'body' })).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringMatching(message) as unknown,
      }),
    );
  });

  it.each<[unknown, object]>([
    [{ name: 1 }, { path: 'name', expected: 'text', got: '1' }],
    [{}, { path: 'name', expected: 'text', got: 'nothing' }],
    [
      { name: 'a', limit: 'a secret' },
      { path: 'limit', expected: 'a number', got: 'text of 8 characters' },
    ],
    ['a secret', { path: 'body', expected: 'an object', got: 'text of 8 characters' }],
  ])('is refused with the first wrong place, and without its text: %j', (body, place) => {
    expect(() => pipe.transform(body, { type: 'body' })).toThrow(
      expect.objectContaining({ facts: { place } }),
    );
  });

  it('is named as the parameter that it is', () => {
    const limit = new ZodPipe(z.int());
    expect(() => limit.transform('x', { type: 'query', data: 'limit' })).toThrow(/^limit: /);
  });

  it.each([
    ['nested too deep', `${'['.repeat(25)}${']'.repeat(25)}`],
    ['of too many values', `[${'0,'.repeat(50_000)}0]`],
  ])('is not looked at where it is %s', (_, text) => {
    const any = new ZodPipe(z.unknown());
    expect(() => any.transform(JSON.parse(text), { type: 'body' })).toThrow('nested too deep');
  });
});
