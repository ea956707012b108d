import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { StatedProblem } from '../platform/http/stated-problem.js';
import { finalityOf, idempotencyKeyOf, wantsAsync } from './settle-request.js';

const requestWith = (headers: IncomingMessage['headers']): IncomingMessage =>
  ({ headers }) as unknown as IncomingMessage;

describe('the headers of a settle request', () => {
  it.each([
    [{ 'settle-finality': 'finalized' }, 'finalized'],
    [{ 'settle-finality': ' Included ' }, 'included'],
    [{}, 'finalized'],
  ])('finality by %o', (headers, expected) => {
    expect(finalityOf(requestWith(headers), 'finalized')).toBe(expected);
  });

  it.each(['', 'final', 'finalized, included', 'undefined'])(
    'refuses the finality %j: its seller would deliver earlier than it means to',
    (value) => {
      const request = requestWith({ 'settle-finality': value });
      expect(() => finalityOf(request, 'included')).toThrow(StatedProblem);
      expect(() => finalityOf(request, 'included')).toThrow(/included or finalized/);
    },
  );

  it.each([
    [{ prefer: 'respond-async' }, true],
    [{ prefer: 'wait=5, Respond-Async' }, true],
    [{ prefer: 'respond-async-please' }, false],
    [{ prefer: 'wait=5' }, false],
    [{}, false],
  ])('an answer at once by %o: %s', (headers, expected) => {
    expect(wantsAsync(requestWith(headers))).toBe(expected);
  });

  it.each<[IncomingMessage['headers'], string | undefined]>([
    [{ 'idempotency-key': ' order-7 ' }, 'order-7'],
    [{}, undefined],
    // Node's type allows a list: two keys are another one than each of them.
    [{ 'idempotency-key': ['a', 'b'] }, 'a, b'],
  ])('the key of an order by %o', (headers, expected) => {
    expect(idempotencyKeyOf(requestWith(headers))).toBe(expected);
  });

  it.each([
    'undefined',
    'null',
    'NaN',
    'None',
    'nil',
    '<nil>',
    'true',
    'false',
    'Null',
    ' undefined ',
    '[object Object]',
    '[object Promise]',
  ])('no key is what a program’s slip makes, and the refusal names it: %s', (sent) => {
    const read = (): unknown => idempotencyKeyOf(requestWith({ 'idempotency-key': sent }));
    expect(read).toThrow(StatedProblem);
    expect(read).toThrow(`is "${sent.trim()}"`);
  });

  it.each(['', '   '])('no key is an empty one: %j', (sent) => {
    const read = (): unknown => idempotencyKeyOf(requestWith({ 'idempotency-key': sent }));
    expect(read).toThrow(StatedProblem);
    expect(read).toThrow('is empty');
  });

  it.each(['undefined-7', 'order-null', '0', '[object of desire]', 'truely'])(
    'a key may contain such a word: %s',
    (sent) => {
      expect(idempotencyKeyOf(requestWith({ 'idempotency-key': sent }))).toBe(sent);
    },
  );
});
