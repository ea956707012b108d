import { describe, expect, it } from '@jest/globals';
import { requestDigest } from './intent.js';

describe('what a request is known by', () => {
  const request = { url: 'http://seller/buy', method: 'POST' as const, body: 'b', headers: {} };
  const digest = (headers: Readonly<Record<string, string>>): string =>
    requestDigest({ ...request, headers });

  it('is all that reaches the seller: with another header it is another purchase', () => {
    const book = digest({ 'x-item': 'a book' });
    expect(book).not.toBe(digest({ 'x-item': 'a gold bar' }));
    expect(book).not.toBe(digest({}));
    expect(book).not.toBe(digest({ 'x-item': 'a book', 'x-count': '2' }));
  });

  it('is the same however its headers are ordered and written', () => {
    expect(digest({ 'X-Item': 'a', accept: 'b' })).toBe(digest({ Accept: 'b', 'x-item': 'a' }));
  });
});
