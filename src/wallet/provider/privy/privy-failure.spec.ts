import { describe, expect, it } from '@jest/globals';
import { APIConnectionError, APIConnectionTimeoutError, APIError } from '@privy-io/node';
import { errorOf, failureOf } from './privy-failure.js';

const answered = (status: number, body: object = {}, headers: Record<string, string> = {}) =>
  failureOf(APIError.generate(status, body, undefined, new Headers(headers)));
const broken = (code: string) => {
  const cause = Object.assign(new Error('connect'), { code });
  return failureOf(new APIConnectionError({ cause: new TypeError('fetch failed', { cause }) }));
};

describe('a failure of Privy in our own terms', () => {
  it.each([
    [400, {}, 'refused', 'provider_refused'],
    [400, { code: 'policy_violation' }, 'policy_violation', 'provider_refused'],
    [401, {}, 'credentials_refused', 'provider_refused'],
    [403, {}, 'refused', 'provider_refused'],
    [404, {}, 'refused', 'provider_refused'],
    [408, {}, 'server_error', 'outcome_unknown'],
    [409, {}, 'conflict', 'provider_refused'],
    [422, {}, 'refused', 'provider_refused'],
    [429, {}, 'rate_limited', 'provider_unavailable'],
    [500, { code: 'policy_violation' }, 'server_error', 'outcome_unknown'],
    [503, {}, 'server_error', 'outcome_unknown'],
    [302, {}, 'wrong_answer', 'outcome_unknown'],
  ])('reads the status %i with %j', (status, body, outcome, code) => {
    const failure = answered(status, body);
    expect([failure.outcome, errorOf(failure).code]).toEqual([outcome, code]);
  });

  it('tells a request that never left from one that may have arrived', () => {
    expect(errorOf(broken('ECONNREFUSED')).code).toBe('provider_unavailable');
    expect(errorOf(broken('ENOTFOUND')).code).toBe('provider_unavailable');
    expect(errorOf(broken('ECONNRESET')).code).toBe('outcome_unknown');
    expect(errorOf(failureOf(new APIConnectionTimeoutError())).code).toBe('outcome_unknown');
    expect(errorOf(failureOf(new SyntaxError('not JSON'))).code).toBe('outcome_unknown');
  });

  it('hands on how long to wait, in whole seconds, and only what is a time', () => {
    expect(errorOf(answered(429, {}, { 'retry-after': '7' })).facts.retryAfterSeconds).toBe(7);
    for (const text of ['soon', '-1', '99999999', '']) {
      const { facts } = errorOf(answered(429, {}, { 'retry-after': text }));
      expect([text, facts.retryAfterSeconds]).toEqual([text, undefined]);
    }
  });

  it('never repeats what Privy wrote', () => {
    const failure = answered(400, { error: 'the secret is hunter2', message: 'hunter2' });
    expect(errorOf(failure).message).not.toContain('hunter2');
  });
});
