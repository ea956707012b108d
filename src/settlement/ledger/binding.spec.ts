import { describe, expect, it } from '@jest/globals';
import { isOfPayment, paymentNameOf, readBinding } from './binding.js';
import { credentialsOf } from './requester.js';

const PAYMENT = { chainId: 56, authorizationId: 'a', termsTag: 't' };

describe('what an idempotency key holds', () => {
  it('names the payment, the requester and the time', () => {
    const value = `${paymentNameOf(56, PAYMENT)}|p.1|1700`;
    expect(readBinding(value)).toEqual({ ...PAYMENT, requester: 'p.1', at: 1700, value });
  });

  it.each(['', '56.a.t', '56.a.t|p.1', '56.a.t||1700', '56.a|p.1|1700', '|p.1|1700'])(
    'is no binding: "%s"',
    (value) => {
      expect(() => readBinding(value)).toThrow(TypeError);
    },
  );

  it.each([
    ['the same', {}, true],
    ['of another chain', { chainId: 97 }, false],
    ['of another authorization', { authorizationId: 'b' }, false],
    ['of other terms', { termsTag: 'u' }, false],
  ])('is of a payment: %s', (_, changes, expected) => {
    expect(isOfPayment({ ...PAYMENT, ...changes }, 56, PAYMENT)).toBe(expected);
  });
});

describe('who a requester is', () => {
  it('is recognized by key, API key and address, which cannot be confused', () => {
    const marks = [
      { keyTag: 'x', apiKeyId: undefined, address: undefined },
      { keyTag: '', apiKeyId: 'x', address: undefined },
      { keyTag: '', apiKeyId: undefined, address: 'x' },
    ].map(credentialsOf);
    expect(marks.map(({ length }) => length)).toEqual([1, 1, 1]);
    expect(new Set(marks.flat()).size).toBe(3);
    // A caller without any credential matches no other one.
    expect(credentialsOf({ keyTag: '', apiKeyId: undefined, address: undefined })).toEqual([]);
  });

  it('shows nothing of the address or the API key', () => {
    const joined = credentialsOf({ keyTag: '', apiKeyId: 'seller-1', address: '192.0.2.1' }).join();
    expect(joined).not.toMatch(/seller|192/);
  });
});
