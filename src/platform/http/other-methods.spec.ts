import { describe, expect, it } from '@jest/globals';
import { allowOf, byPath } from './other-methods.js';

const route = (method: string, path: string) => ({ method, path, isOpsOnly: false });

describe('other methods', () => {
  it('are those of a path of which some are known', () => {
    const found = byPath([
      route('GET', '/v1/wallets/me/policy'),
      route('PUT', '/v1/wallets/me/policy'),
      route('GET', '/supported'),
    ]);
    expect([...found.keys()]).toEqual(['/v1/wallets/me/policy', '/supported']);
    expect(found.get('/v1/wallets/me/policy')?.map(({ method }) => method)).toEqual(['GET', 'PUT']);
  });

  it('are left to a path that takes every method itself', () => {
    expect([...byPath([route('POST', '/settle'), route('ALL', '/settle')]).keys()]).toEqual([]);
  });

  it('get the known ones', () => {
    expect(allowOf(new Set(['GET']), false)).toBe('GET, HEAD, OPTIONS');
    expect(allowOf(new Set(['PUT', 'GET']), false)).toBe('GET, HEAD, PUT, OPTIONS');
    expect(allowOf(new Set(['POST', 'DELETE']), true)).toBe('DELETE, POST');
  });
});
