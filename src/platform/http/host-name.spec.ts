import { describe, expect, it } from '@jest/globals';
import { isServedHere } from './ops-server.js';

const NAMES = ['localhost', 'facilitator'];

describe('a request to the operators’ port', () => {
  it.each([
    'localhost',
    'LOCALHOST:4023',
    'localhost.:4023',
    'facilitator:4023',
    '127.0.0.1:4023',
    '10.1.2.3',
    '[::1]:4023',
    '[2001:db8::1]',
    undefined,
  ])('may name %s', (host) => {
    expect(isServedHere(host, NAMES)).toBe(true);
  });

  it.each([
    'evil.example',
    'evil.example:4023',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'facilitator.evil.example',
    '',
    'localhost@evil.example',
    '127.0.0.1:4023:evil.example',
  ])('may not name %j: a site has given its name this address', (host) => {
    expect(isServedHere(host, NAMES)).toBe(false);
  });
});
