import { describe, expect, it } from '@jest/globals';
import { isFault } from './response-observer.js';

describe('an answer', () => {
  it.each([200, 404, 429, 501, 503, 599])('with %i is no fault of the service', (status) => {
    expect(isFault(status)).toBe(false);
  });

  it.each([500, 502, 504])('with %i is one', (status) => {
    expect(isFault(status)).toBe(true);
  });
});
