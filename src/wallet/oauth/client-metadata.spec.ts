import { describe, expect, it } from '@jest/globals';
import { problemOf, shownHost, shownName } from './client-metadata.js';

const registering = (...redirects: unknown[]) => problemOf({ redirect_uris: redirects });

describe('what a client says of itself', () => {
  it.each([
    'https://app.example/callback',
    'https://app.example:8443/callback?with=query',
    'http://127.0.0.1:33418/callback',
    'http://[::1]:1/',
    'http://localhost/callback',
  ])('may send the answer to %s', (redirect) => {
    expect(registering(redirect)).toBeUndefined();
  });

  it.each([
    'http://app.example/callback',
    'http://127.0.0.1.evil.example/',
    'http://localhost.evil.example/',
    'cursor://callback',
    'javascript:alert(1)',
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
    expect(problemOf({ redirect_uris: [], logo_uri: 'x'.repeat(8200) })).toMatch(/8192/);
    expect(problemOf({})).toMatch(/redirect_uris/);
  });

  it.each([
    ['Claude Code (wallet)', 'Claude Code (wallet)'],
    ['  Ünïcode   名 ', 'Ünïcode 名'],
    ['two\nlines "quoted" <b>', 'twolines quoted b'],
    ['\u202eevil\u0000', 'evil'],
    ['x'.repeat(200), 'x'.repeat(64)],
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
});
