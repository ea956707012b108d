import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { type Address, getAddress } from 'viem';
import { z } from 'zod';
import type { Secret } from '../../platform/config/secret.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';

/** JWT (RFC 7519), signed with HMAC SHA-256; no other algorithm is ever read. */
const HEADER = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'JWT' })).toString('base64url');
const TOKEN_MAX_CHARACTERS = 2048;

const Claims = z.object({
  iss: z.string(),
  aud: z.literal('wallet'),
  /** The owner who signed in, with checksum. */
  sub: z.string(),
  role: z.enum(['owner', 'agent']),
  jti: z.string().regex(/^[\w-]{22}$/),
  iat: z.int(),
  exp: z.int(),
});

interface TokenClaims {
  /** Lower case. */
  readonly owner: Address;
  readonly role: 'owner' | 'agent';
  readonly id: string;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** Unix seconds. */
  readonly expiresAt: number;
}

/** Makes and reads bearer tokens. What was revoked is not known here. */
@Injectable()
export class TokenIssuer {
  constructor(
    @Inject(WALLET_SETTINGS)
    private readonly settings: Pick<WalletConfig, 'tokenSecret' | 'publicUrl'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  issue(
    owner: Address,
    role: 'owner' | 'agent',
    lifeSeconds: number,
    notBefore = 0,
  ): { readonly token: string; readonly claims: TokenClaims } {
    // Tokens from before `notBefore` are void; one made now is not, though clocks count whole seconds.
    const issuedAt = Math.max(this.now(), notBefore);
    const claims: TokenClaims = {
      owner,
      role,
      id: randomBytes(16).toString('base64url'),
      issuedAt,
      expiresAt: issuedAt + lifeSeconds,
    };
    const payload: z.input<typeof Claims> = {
      iss: this.settings.publicUrl,
      aud: 'wallet',
      sub: getAddress(owner),
      role,
      jti: claims.id,
      iat: issuedAt,
      exp: claims.expiresAt,
    };
    const body = Buffer.from(JSON.stringify(payload)).toString('base64url');
    const mac = macOf(this.settings.tokenSecret.current, body).toString('base64url');
    return { token: `${HEADER}.${body}.${mac}`, claims };
  }

  /** @throws WalletError `unauthorized`. */
  read(token: string): TokenClaims {
    const [header, body = '', mac = '', ...rest] = token.slice(0, TOKEN_MAX_CHARACTERS).split('.');
    const given = Buffer.from(mac, 'base64url');
    const { current, previous } = this.settings.tokenSecret;
    const secrets = previous === undefined ? [current] : [current, previous];
    const isSigned = secrets.some((secret) => {
      const expected = macOf(secret, body);
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
    if (header !== HEADER || rest.length > 0 || !isSigned) throw invalidToken();
    const claims = Claims.safeParse(JSON.parse(Buffer.from(body, 'base64url').toString('utf8')));
    const owner = readAddress(claims.data?.sub);
    if (!claims.success || owner === undefined || claims.data.iss !== this.settings.publicUrl) {
      throw invalidToken();
    }
    const { role, jti, iat, exp } = claims.data;
    if (exp <= this.now()) {
      throw new WalletError('unauthorized', 'authorization token has expired');
    }
    return { owner, role, id: jti, issuedAt: iat, expiresAt: exp };
  }
}

function macOf(secret: Secret<string>, body: string): Buffer {
  return createHmac('sha256', secret.reveal()).update(`${HEADER}.${body}`).digest();
}

export function invalidToken(): WalletError {
  return new WalletError('unauthorized', 'authorization token is invalid');
}
