import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { parseSellerJson } from './seller-json.js';

describe('JSON of a seller', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is an object', () => {
    expect(parseSellerJson('{"x402Version":2,"accepts":[]}')).toEqual({
      x402Version: 2,
      accepts: [],
    });
    expect(parseSellerJson('[]')).toBeUndefined();
    expect(parseSellerJson('{')).toBeUndefined();
  });

  it('is not parsed where it has too many objects for an event loop', () => {
    const parsed = jest.spyOn(JSON, 'parse');
    expect(parseSellerJson(`{"accepts":[${'{},'.repeat(80_000)}{}]}`)).toBeUndefined();
    expect(parsed.mock.calls.length).toBe(0);
  });
});
