import { describe, expect, it } from '@jest/globals';
import { challengeOf, scopeNeeded } from './oauth-names.js';

const called = (name: unknown) => ({ method: 'tools/call', params: { name } });

describe('the scope a message needs', () => {
  it.each([
    ['a tool that reads', called('policy_get'), 'wallet:read'],
    ['a tool that pays', called('payment_pay'), 'wallet:pay'],
    ['a tool nobody has heard of', called('swap'), 'wallet:pay'],
    ['a call of no tool', { method: 'tools/call' }, 'wallet:pay'],
    ['a name that is none', called(['policy_get']), 'wallet:pay'],
    ['no call', { method: 'tools/list' }, undefined],
    ['no message', null, undefined],
    ['a text', 'tools/call', undefined],
  ])('of %s', (_, message, scope) => {
    expect(scopeNeeded(message)).toBe(scope);
  });
});

describe('the challenge of the resource', () => {
  it('leads to its metadata, and names what went wrong', () => {
    const metadata = 'https://w.example/.well-known/oauth-protected-resource/mcp';
    expect(challengeOf('https://w.example', ['wallet:read'])).toBe(
      `Bearer resource_metadata="${metadata}", scope="wallet:read"`,
    );
    expect(challengeOf('https://w.example', ['wallet:pay'], 'insufficient_scope')).toBe(
      `Bearer error="insufficient_scope", resource_metadata="${metadata}", scope="wallet:pay"`,
    );
  });
});
