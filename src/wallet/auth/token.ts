import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { type Address, getAddress } from 'viem';
import { z } from 'zod';
import type { Secret } from '../../platform/config/secret.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';

/** JWT (RFC 7519), signed with HMAC SHA-256; no other algorithm is accepted. */
const HEADER = { alg: 'HS256', typ: 'JWT' } as const;
const AUDIENCE = 'wallet';
const TOKEN_MAX_CHARACTERS = 2048;

const Claims = z.object({
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

/** Makes and reads bearer tokens. It does not check revocations. */
@Injectable()
export class TokenIssuer {
  readonly #issuer: string;
  /** The first key signs. */
  readonly #keys: readonly [KeyObject, ...KeyObject[]];

  constructor(
    @Inject(WALLET_SETTINGS)
    {
      tokenSecret: { current, previous },
      publicUrl,
    }: Pick<WalletConfig, 'tokenSecret' | 'publicUrl'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {
    this.#issuer = publicUrl;
    this.#keys = [keyOf(current), ...(previous === undefined ? [] : [keyOf(previous)])];
  }

  async issue(
    owner: Address,
    role: 'owner' | 'agent',
    lifeSeconds: number,
    notBefore = 0,
  ): Promise<{ readonly token: string; readonly claims: TokenClaims }> {
    // Tokens from before `notBefore` are void. A new token is not, although clocks count whole seconds.
    const issuedAt = Math.max(this.now(), notBefore);
    const claims: TokenClaims = {
      owner,
      role,
      id: randomBytes(16).toString('base64url'),
      issuedAt,
      expiresAt: issuedAt + lifeSeconds,
    };
    const token = await new SignJWT({ role })
      .setProtectedHeader(HEADER)
      .setIssuer(this.#issuer)
      .setAudience(AUDIENCE)
      .setSubject(getAddress(owner))
      .setJti(claims.id)
      .setIssuedAt(issuedAt)
      .setExpirationTime(claims.expiresAt)
      .sign(this.#keys[0]);
    return { token, claims };
  }

  /** @throws WalletError `unauthorized`. */
  async read(token: string): Promise<TokenClaims> {
    if (token.length > TOKEN_MAX_CHARACTERS) throw invalidToken();
    const claims = Claims.safeParse(await this.#verified(token));
    const owner = readAddress(claims.data?.sub);
    if (!claims.success || owner === undefined) throw invalidToken();
    const { role, jti, iat, exp } = claims.data;
    return { owner, role, id: jti, issuedAt: iat, expiresAt: exp };
  }

  /** With the present secret, otherwise with the previous one. */
  async #verified(token: string): Promise<JWTPayload> {
    for (const key of this.#keys) {
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [HEADER.alg],
          typ: HEADER.typ,
          issuer: this.#issuer,
          audience: AUDIENCE,
          currentDate: new Date(this.now() * 1000),
        });
        return payload;
      } catch (error) {
        if (error instanceof errors.JWTExpired) {
          throw new WalletError('unauthorized', 'authorization token has expired');
        }
        if (!(error instanceof errors.JOSEError)) throw error;
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) break;
      }
    }
    throw invalidToken();
  }
}

function keyOf(secret: Secret<string>): KeyObject {
  return createSecretKey(Buffer.from(secret.reveal()));
}

export function invalidToken(): WalletError {
  return new WalletError('unauthorized', 'authorization token is invalid');
}
