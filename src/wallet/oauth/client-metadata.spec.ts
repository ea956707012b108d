import { describe, expect, it, jest } from '@jest/globals';
import { keepKnown, problemOf, shownHost, shownName } from './client-metadata.js';

const registering = (...redirects: unknown[]) => problemOf({ redirect_uris: redirects });

describe('what a client says of itself', () => {
  it.each([
    'https://app.example/callback',
    'https://app.example:8443/callback?with=query',
    'http://127.0.0.1:33418/callback',
    'http://[::1]:1/',
    'http://localhost/callback',
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'vscode-insiders://vscode.some-extension/callback',
    'com.example.app:/oauth/callback',
  ])('may send the answer to %s', (redirect) => {
    expect(registering(redirect)).toBeUndefined();
  });

  it.each([
    'http://app.example/callback',
    'http://127.0.0.1.evil.example/',
    'http://localhost.evil.example/',
    'javascript:alert(1)',
    'javascript://app.example/%0aalert(1)',
    'data://text/html,x',
    'file:///etc/passwd',
    'ftp://app.example/',
    'ws://app.example/',
    'intent://app.example/#Intent;end',
    'ms-msdt://id/x',
    'search-ms://query',
    'cursor:callback',
    'cursor://user@host/callback',
    'cursor://callback#part',
    '',
    'https://user@app.example/',
    'https://app.example/#part',
    'not a URL',
    7,
    `https://app.example/${'x'.repeat(500)}`,
  ])('may not send the answer to %s', (redirect) => {
    expect(registering('https://app.example/', redirect)).toMatch(/redirect_uris/);
  });

  it('is bounded', () => {
    const many = Array.from({ length: 11 }, (_, at) => `https://app.example/${at}`);
    expect(registering(...many)).toMatch(/at most 10/);
    expect(problemOf({ redirect_uris: [], client_name: 'x'.repeat(4096) })).toMatch(/4096/);
    expect(problemOf({ redirect_uris: [], client_name: '名'.repeat(1400) })).toMatch(/4096/);
    expect(problemOf({})).toBe('redirect_uris must be a list of strings');
    expect(problemOf({ redirect_uris: 'https://app.example/callback' })).toBe(
      'redirect_uris must be a list of strings',
    );
    const nested: unknown = JSON.parse(`${'['.repeat(25_000)}${']'.repeat(25_000)}`);
    expect(problemOf({ redirect_uris: nested })).toMatch(/lists of strings/);
  });

  it.each([
    ['Claude Code (wallet)', 'Claude Code (wallet)'],
    ['  Ünïcode   名 ', 'Ünïcode 名'],
    ['two\nlines "quoted" <b>', 'twolines quoted b'],
    ['\u202eevil\u0000', 'evil'],
    ['x'.repeat(200), 'x'.repeat(64)],
    [`x${'\u{20000}'.repeat(40)}`, `x${'\u{20000}'.repeat(31)}`],
    ['!?', 'unnamed'],
    [undefined, 'unnamed'],
    [{ toString: 'x' }, 'unnamed'],
  ])('is shown %j as %s', (name, shown) => {
    expect(shownName(name)).toBe(shown);
  });

  it('is answered at a host that owners can read', () => {
    expect(shownHost('https://app.example:8443/x')).toBe('app.example:8443');
    expect(shownHost('https://xn--pple-43d.example/')).toBe('xn--pple-43d.example');
    expect(shownHost('http://[::1]:5/')).toBe('a program on your own machine');
  });

  it('is answered by a scheme of its own as by a program on this machine, whatever it is followed by', () => {
    expect(shownHost('cursor://claude.ai/oauth/callback')).toBe('a program on your own machine');
    expect(shownHost('com.example.app:/x')).toBe('a program on your own machine');
  });
});

describe('what a client registers', () => {
  const SCOPES = ['wallet:read', 'wallet:pay'];
  const REDIRECT = 'http://localhost:3118/callback';
  const kept = (more: Record<string, unknown>): Record<string, unknown> => {
    const metadata = { redirect_uris: [REDIRECT], ...more };
    keepKnown(metadata, SCOPES);
    return metadata;
  };

  it.each([
    ['scopes of OpenID', { scope: 'openid email profile' }, { scope: undefined }],
    [
      'a scope that is not here beside two that are',
      { scope: 'wallet:read offline_access wallet:pay' },
      { scope: 'wallet:read wallet:pay' },
    ],
    [
      'a grant more',
      { grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'] },
      { grant_types: ['authorization_code'] },
    ],
    ['a response more', { response_types: ['code', 'token'] }, { response_types: ['code'] }],
    [
      'empty URLs',
      { tos_uri: '', policy_uri: '', logo_uri: null },
      { tos_uri: undefined, policy_uri: undefined, logo_uri: undefined },
    ],
    ['an empty scope and name', { scope: '', client_name: '' }, { client_name: undefined }],
    ['an empty redirect', { redirect_uris: [REDIRECT, ''] }, { redirect_uris: [REDIRECT] }],
    [
      'URLs that a server would fetch',
      { sector_identifier_uri: 'https://10.0.0.1/', jwks_uri: 'https://10.0.0.1/' },
      { sector_identifier_uri: undefined, jwks_uri: undefined },
    ],
    [
      'what OpenID would do with it',
      { subject_type: 'pairwise', id_token_signed_response_alg: 'RS256', contacts: ['nobody'] },
      { subject_type: undefined, id_token_signed_response_alg: undefined, contacts: undefined },
    ],
    ['its kind', { application_type: 'web' }, { application_type: 'native' }],
  ])('is kept without %s', (_, more: object, expected: object) => {
    const metadata = kept({ ...more });
    for (const [name, value] of Object.entries(expected)) expect(metadata[name]).toEqual(value);
  });

  it('is not parsed where its redirect is longer than any may be', () => {
    const parse = jest.spyOn(URL, 'canParse');
    const metadata = { redirect_uris: [`https://${'\u4e00'.repeat(18_500)}.example`] };
    keepKnown(metadata, []);
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
    expect(metadata).toMatchObject({ application_type: 'native' });
  });

  it('is refused where nothing of what it needs is here', () => {
    expect(kept({ grant_types: ['client_credentials'] })['grant_types']).toEqual([
      'client_credentials',
    ]);
    expect(kept({ response_types: ['id_token'] })['response_types']).toEqual(['id_token']);
  });
});
