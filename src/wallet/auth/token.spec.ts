import { createHmac } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Address, getAddress } from 'viem';
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

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a token', () => {
  let token: string;

  beforeAll(async () => {
    ({ token } = await mint().issue(owner, 'agent', 60));
  });

  it('says who, as what and until when', async () => {
    expect(await mint().read(token)).toMatchObject({
      owner,
      role: 'agent',
      issuedAt: NOW,
      expiresAt: NOW + 60,
    });
  });

  it('is a JWT by HS256, in which the owner has a checksum', async () => {
    const jti = 'a'.repeat(22);
    const body = encoded({
      iss: 'https://a.example',
      aud: 'wallet',
      sub: getAddress(owner),
      role: 'owner',
      jti,
      iat: NOW,
      exp: NOW + 60,
    });
    const signed = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${body}`;
    const mac = createHmac('sha256', 'secret').update(signed).digest('base64url');
    expect(await mint().read(`${signed}.${mac}`)).toMatchObject({ owner, role: 'owner', id: jti });
  });

  it('is over at its end, and says so', async () => {
    const at = (now: number) => mint('secret', 'https://a.example', now).read(token);
    await expect(at(NOW + 59)).resolves.toMatchObject({ owner });
    await expect(at(NOW + 60)).rejects.toThrow('authorization token has expired');
  });

  it('is not dated before the last revocation', async () => {
    const { claims } = await mint().issue(owner, 'agent', 60, NOW + 1);
    expect(claims.issuedAt).toBe(NOW + 1);
  });

  it.each<[string, (parts: Record<'header' | 'body' | 'mac', string>) => string]>([
    ['no signature', ({ header, body }) => `${header}.${body}.`],
    ['no algorithm', ({ body }) => `${encoded({ alg: 'none', typ: 'JWT' })}.${body}.`],
    [
      'another header',
      ({ body, mac }) => `${encoded({ alg: 'HS512', typ: 'JWT' })}.${body}.${mac}`,
    ],
    [
      'another role',
      ({ header, body, mac }) => {
        const promoted = Buffer.from(body, 'base64url').toString().replace('agent', 'owner');
        return `${header}.${Buffer.from(promoted).toString('base64url')}.${mac}`;
      },
    ],
    ['a fourth part', () => `${token}.x`],
    ['nothing in it', () => '..'],
    ['more than is read', () => `${token}.${'x'.repeat(2048)}`],
  ])('is refused with %s', async (_what, forge) => {
    const [header = '', body = '', mac = ''] = token.split('.');
    await expect(mint().read(forge({ header, body, mac }))).rejects.toThrow(
      'authorization token is invalid',
    );
  });

  it('stays valid while its secret is the one before', async () => {
    const rotated = mint('other', 'https://a.example', NOW, 'secret');
    expect(await rotated.read(token)).toMatchObject({ owner });
    const { token: fresh } = await rotated.issue(owner, 'agent', 60);
    expect(await mint('other').read(fresh)).toMatchObject({ owner });
    await expect(mint('secret').read(fresh)).rejects.toThrow('is invalid');
  });

  it('is refused under another secret or issuer', async () => {
    await expect(mint('other').read(token)).rejects.toThrow('authorization token is invalid');
    await expect(mint('secret', 'https://b.example').read(token)).rejects.toThrow('is invalid');
  });
});
