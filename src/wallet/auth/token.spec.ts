import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { Secret } from '../../platform/config/secret.js';
import { TokenIssuer } from './token.js';

const owner: Address = `0x${'a1'.repeat(20)}`;
const NOW = 1_800_000_000;
const mint = (secret = 'secret', issuer = 'https://a.example', now = NOW, previous?: string) =>
  new TokenIssuer(
    {
      tokenSecret: {
        current: new Secret(secret),
        previous: previous === undefined ? undefined : new Secret(previous),
      },
      publicUrl: issuer,
    },
    () => now,
  );

describe('a token', () => {
  const { token } = mint().issue(owner, 'agent', 60);

  it('says who, as what and until when', () => {
    expect(mint().read(token)).toMatchObject({
      owner,
      role: 'agent',
      issuedAt: NOW,
      expiresAt: NOW + 60,
    });
  });

  it('is over at its end, and says so', () => {
    expect(() => mint('secret', 'https://a.example', NOW + 59).read(token)).not.toThrow();
    expect(() => mint('secret', 'https://a.example', NOW + 60).read(token)).toThrow(
      'authorization token has expired',
    );
  });

  it('is not dated before the last revocation', () => {
    const { claims } = mint().issue(owner, 'agent', 60, NOW + 1);
    expect(claims.issuedAt).toBe(NOW + 1);
  });

  const [header = '', body = '', mac = ''] = token.split('.');
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const promoted = Buffer.from(body, 'base64url').toString().replace('agent', 'owner');
  it.each([
    ['no signature', `${header}.${body}.`],
    ['no algorithm', `${encoded({ alg: 'none', typ: 'JWT' })}.${body}.`],
    ['another header', `${encoded({ alg: 'HS512', typ: 'JWT' })}.${body}.${mac}`],
    ['another role', `${header}.${Buffer.from(promoted).toString('base64url')}.${mac}`],
    ['a fourth part', `${token}.x`],
  ])('is refused with %s', (_what, forged) => {
    expect(() => mint().read(forged)).toThrow('authorization token is invalid');
  });

  it('stays valid while its secret is the one before', () => {
    const rotated = mint('other', 'https://a.example', NOW, 'secret');
    expect(rotated.read(token)).toMatchObject({ owner });
    const { token: fresh } = rotated.issue(owner, 'agent', 60);
    expect(mint('other').read(fresh)).toMatchObject({ owner });
    expect(() => mint('secret').read(fresh)).toThrow('is invalid');
  });

  it('is refused under another secret or issuer', () => {
    expect(() => mint('other').read(token)).toThrow('authorization token is invalid');
    expect(() => mint('secret', 'https://b.example').read(token)).toThrow('is invalid');
  });
});
