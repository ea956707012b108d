import { describe, expect, it } from '@jest/globals';
import { isFor, readSignInMessage } from './sign-in-message.js';

const ADDRESS = '0x6370eF2f4Db3611D657b90667De398a2Cc2a370C';
const message = (changes: Readonly<Record<string, string>> = {}): string => {
  const parts = {
    domain: 'hub.example',
    uri: 'https://hub.example',
    statement: 'Sign in.\n',
    end: '',
    ...changes,
  };
  return [
    `${parts.domain} wants you to sign in with your Ethereum account:`,
    ADDRESS,
    '',
    parts.statement,
    `URI: ${parts.uri}`,
    'Version: 1',
    'Chain ID: 97',
    'Nonce: testnonce123456',
    `Issued At: 2026-01-01T00:00:00Z${parts.end}`,
  ].join('\n');
};
const isForHub = (text: string, site = 'https://hub.example'): boolean | undefined => {
  const read = readSignInMessage(text);
  return read && isFor(read, new URL(site));
};

describe('a sign-in message', () => {
  it('is read with and without its optional parts', () => {
    const end =
      '\nExpiration Time: 2026-01-01T00:10:00Z\nNot Before: 2026-01-01T00:00:30Z\nRequest ID: 1\nResources:\n- https://a.example';
    expect(readSignInMessage(message({ end }))).toMatchObject({
      address: ADDRESS.toLowerCase(),
      issuedAt: 1_767_225_600,
      expiresAt: 1_767_226_200,
      notBefore: 1_767_225_630,
    });
    expect(isForHub(message({ statement: '' }))).toBe(true);
    expect(isForHub(message({ domain: 'https://HUB.example' }))).toBe(true);
    expect(isForHub(message().replaceAll('\n', '\r\n'))).toBe(true);
  });

  it.each([
    ['another domain', { domain: 'shop.example' }],
    ['another domain that begins with ours', { domain: 'hub.example.evil.example' }],
    ['another port', { domain: 'hub.example:8443' }],
    ['another URI', { uri: 'https://shop.example' }],
    ['another URI that begins with ours', { uri: 'https://hub.example.evil.example/' }],
    ['another scheme', { uri: 'http://hub.example' }],
    ['another port in the URI', { uri: 'https://hub.example:8443/' }],
  ])('for %s is not for this hub', (_what, changes) => {
    expect(isForHub(message(changes))).toBe(false);
  });

  it('is for the part of a site that its URI names', () => {
    const site = 'https://hub.example/api';
    expect(isForHub(message({ uri: 'https://hub.example/api' }), site)).toBe(true);
    expect(isForHub(message({ uri: 'https://hub.example/api/upload' }), site)).toBe(true);
    expect(isForHub(message({ uri: 'https://hub.example' }), site)).toBe(false);
    expect(isForHub(message({ uri: 'https://hub.example/apis' }), site)).toBe(false);
  });

  it.each([
    ['a statement of two lines', message({ statement: 'Sign in.\nURI: https://hub.example\n' })],
    ['no first line', message().split('\n').slice(1).join('\n')],
    ['an address behind a user', message({ domain: 'hub.example@evil.example' })],
    ['a field twice', message({ end: '\nIssued At: 2030-01-01T00:00:00Z' })],
    ['a field in another place', message({ end: '\nNonce: x' })],
    ['no time', message({ end: ' or so' })],
    ['no URI', message({ uri: 'nowhere' })],
    ['a bad expiry', message({ end: '\nExpiration Time: never' })],
    ['text behind it', message({ end: '\nanything' })],
    ['nothing', ''],
  ])('is not one with %s', (_what, text) => {
    expect(readSignInMessage(text)).toBeUndefined();
  });
});
