import { describe, expect, it } from '@jest/globals';
import { loadSignerRecovery } from '../../platform/crypto/recover-signer.js';
import { readLegacyAuthorization, verifyLegacy } from './legacy-authorization.js';
import type { SignatureValidity } from './signature-validity.js';

/** Made with the key 0x0102…1f20, which is for tests only. */
const ADDRESS = '0x6370eF2f4Db3611D657b90667De398a2Cc2a370C';
const TIME = 1_767_225_600;
const LABEL = '0x75706c6f6164';
const LEGACY =
  '0xfc659cd3d504ddd40a3a3d9919dbba3699f3a2a625104e09bcc96defd61103202550054297864b36b72aa49c0ff45188a15f7a03c1624b9b8ff9c7057dd6b03700';
const LEGACY_BASE64 =
  '/GWc09UE3dQKOj2ZGdu6NpnzoqYlEE4JvMlt79YRAyAlUAVCl4ZLNrcqpJwP9FGIoV96A8FiS5uP+ccFfdawNwA=';
const PERSONAL =
  '0x3dc11ca7beda9373c1a16e4bbcc67bbca8aa4cb5810e96d711b5f59a10e47216783a799a6555bf416ca0677b97b63eb4d3608648a66b9ccd4743084f1fcb951b1b';
const MESSAGE = [
  'hub.example wants you to sign in with your Ethereum account:',
  ADDRESS,
  '',
  'Sign in to the hub.',
  '',
  'URI: https://hub.example',
  'Version: 1',
  'Chain ID: 97',
  'Nonce: testnonce123456',
  'Issued At: 2026-01-01T00:00:00Z',
].join('\n');
const MESSAGE_SIGN =
  '0x7e334ae61283d182408c1a695feaab73d981e3b01aff3f33e3e4474db437e85d76719af6bf70c5debee6f43591a759175497331fb697871fa09709de3eab2b8e1c';

const legacy = { Type: '', Addr: ADDRESS, Time: TIME, Hash: LABEL, Sign: LEGACY };
const hexForm = Buffer.from(
  JSON.stringify({
    Type: '',
    Addr: ADDRESS.toLowerCase(),
    Time: TIME,
    Hash: 'dXBsb2Fk',
    Sign: LEGACY_BASE64,
  }),
).toString('hex');
const personal = { ...legacy, Type: 'personal_sign', Sign: PERSONAL };
const siwe = { Type: '', Addr: ADDRESS, Time: 0, Hash: '0x', Sign: MESSAGE_SIGN, Msg: MESSAGE };

const { recoverSigner } = loadSignerRecovery();

function verdictOf(
  header: string | object,
  now = TIME,
  siteUrl = 'https://hub.example',
): SignatureValidity | 'unreadable' {
  const text = typeof header === 'string' ? header : JSON.stringify(header);
  const authorization = readLegacyAuthorization(text);
  if (authorization === undefined) return 'unreadable';
  const site = new URL(siteUrl);
  return verifyLegacy(authorization, { recover: recoverSigner, now, windowSeconds: 600, site });
}

const problemOf = (header: object, now = TIME, siteUrl?: string): string => {
  const verdict = verdictOf(header, now, siteUrl);
  if (verdict === 'unreadable') return verdict;
  return verdict.isValid ? 'good' : verdict.message;
};

const withV = (signature: string, v: number): string =>
  signature.slice(0, -2) + v.toString(16).padStart(2, '0');

describe('a legacy authorization', () => {
  const good: SignatureValidity = { isValid: true, signer: ADDRESS.toLowerCase() as `0x${string}` };

  it.each([
    ['hex', hexForm],
    ['JSON', legacy],
    ['personal_sign', personal],
    ['a signed message', siwe],
  ])('is read and verified as %s', (_form, header) => {
    expect(verdictOf(header)).toEqual(good);
  });

  it('takes the recovery byte in every way it is written', () => {
    for (const v of [0, 27, 31, 35, 37]) {
      expect(verdictOf({ ...legacy, Sign: withV(LEGACY, v) })).toEqual(good);
      expect(verdictOf({ ...personal, Sign: withV(PERSONAL, v) })).toEqual(good);
    }
    expect(problemOf({ ...legacy, Sign: withV(LEGACY, 29) })).toMatch(/^verify auth/);
  });

  it('is good for its time, and not a second longer', () => {
    for (const header of [legacy, personal, siwe]) {
      expect(verdictOf(header, TIME + 600)).toEqual(good);
      expect(verdictOf(header, TIME - 600)).toEqual(good);
      expect(problemOf(header, TIME + 601)).toBe(
        'auth timestamp out of window (delta=601s, max=600s)',
      );
      expect(problemOf(header, TIME - 601)).toMatch(/^auth timestamp out of window/);
    }
  });

  it('is worth nothing once anything of it is changed', () => {
    const other = `0x${'11'.repeat(20)}`;
    for (const change of [
      { Time: TIME + 1 },
      { Hash: '0x00' },
      { Addr: other },
      { Type: 'personal_sign' },
      { Type: 'other' },
      { Sign: `0xfd${LEGACY.slice(4)}` },
      { Sign: '0x' },
    ]) {
      expect(problemOf({ ...legacy, ...change })).toMatch(/^verify auth/);
    }
    // The signer of a message is the address it names.
    expect(problemOf({ ...siwe, Addr: other })).toMatch(/names another address$/);
    expect(problemOf({ ...siwe, Msg: MESSAGE.replace('Chain ID: 97', 'Chain ID: 1') })).toMatch(
      /^verify auth/,
    );
  });

  it('takes no message that leaves open who signed it, or when', () => {
    for (const Msg of [
      `${MESSAGE}\n${ADDRESS}`,
      MESSAGE.replace(/\nIssued At.*/, ''),
      `${MESSAGE}\nIssued At: 2030-01-01T00:00:00Z`,
      MESSAGE.replace('2026-01-01T00:00:00Z', 'yesterday'),
    ]) {
      expect(problemOf({ ...siwe, Msg })).toMatch(/^verify auth: the message/);
    }
  });

  it('takes a message for this hub, and none that was signed for another site', () => {
    expect(problemOf(siwe, TIME, 'https://shop.example')).toBe(
      'verify auth: the sign-in message is for another site',
    );
    // As a wallet service at the same host has it.
    expect(problemOf(siwe, TIME, 'https://hub.example/api')).toMatch(/another site$/);
    const authorization = readLegacyAuthorization(JSON.stringify(siwe));
    const rules = { recover: recoverSigner, now: TIME, windowSeconds: 600, site: undefined };
    expect(authorization && verifyLegacy(authorization, rules)).toMatchObject({ isValid: false });
  });

  it.each(['zzz', 'deadbeef', '{}', '[]', '{"Addr":5}', 'null', ''])('is not %s', (header) => {
    expect(verdictOf(header)).toBe('unreadable');
  });
});
