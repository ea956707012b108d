import { describe, expect, it } from '@jest/globals';
import { TOOL_NAMES } from '../mcp/wallet-server.js';
import { challengeOf, SCOPED_TOOLS, scopesNeeded } from './oauth-names.js';

const called = (name: unknown) => ({ method: 'tools/call', params: { name } });

const saving = (name: string) => ({
  method: 'tools/call',
  params: { name, arguments: { saveTo: 'hub' } },
});

describe('the scopes a message needs', () => {
  it.each([
    ['a tool that reads', called('policy_get'), ['wallet:read']],
    ['a tool that pays', called('payment_pay'), ['wallet:pay']],
    ['a tool that pays for those of others', called('payment_call_tool'), ['wallet:pay']],
    ['a tool of files', called('hub_get'), ['hub']],
    ['a purchase into the files', saving('payment_pay'), ['wallet:pay', 'hub']],
    ['an unknown tool', called('swap'), ['wallet:pay']],
    ['a call of no tool', { method: 'tools/call' }, ['wallet:pay']],
    ['a name that is no text', called(['policy_get']), ['wallet:pay']],
    ['no call', { method: 'tools/list' }, []],
    ['no message', null, []],
    ['a text', 'tools/call', []],
  ])('of %s', (_, message, scopes) => {
    expect(scopesNeeded(message)).toEqual(scopes);
  });

  it('is decided for every tool there is', () => {
    expect([...SCOPED_TOOLS].sort()).toEqual([...TOOL_NAMES].sort());
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
