import { Controller, HttpCode, Inject, Post, Req, UseFilters, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import { type Address } from 'viem';
import { z } from 'zod';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { AnonymousRoom } from '../anonymous-room.js';
import { Sessions } from '../auth/sessions.js';
import { LEGACY_MESSAGE, SIGNATURE_MAX_BYTES, SignIn } from '../auth/sign-in.js';
import { Assertion } from '../passkeys/passkey.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletBody } from './wallet-body.service.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

/** Characters of what is stored for an owner that is about to sign. */
const NONCE_CHARACTERS = 600;

const OWNER_STATEMENT = 'Sign in as the owner of this wallet.';

/** A message that an address has signed. */
export const SignedBody = z.strictObject({
  address: z.string().max(64),
  message: z.string().max(4096),
  signature: z
    .string()
    .max(2 + 2 * SIGNATURE_MAX_BYTES)
    .optional(),
  assertion: Assertion.optional(),
});
const Asking = z.strictObject({ address: z.string().max(64) });

interface TokenAnswer {
  readonly token: string;
}

/** How owners get their tokens, and how tokens are ended; paths and answers of the published wallet skill. */
@Controller('v1')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class SignInV1Controller {
  constructor(
    private readonly bodies: WalletBody,
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly room: AnonymousRoom,
    @Inject(WALLET_SETTINGS) private readonly settings: WalletConfig,
  ) {}

  @Post('login/nonce')
  @HttpCode(200)
  async nonce(@Req() request: Request): Promise<Readonly<Record<string, unknown>>> {
    const { address } = await this.bodies.of(request, Asking);
    const owner = addressOf(address);
    await this.room.assert(request.ip, NONCE_CHARACTERS, () => this.sessions.knows(owner));
    return { ...(await this.signIn.challenge(owner, OWNER_STATEMENT)) };
  }

  @Post('login')
  @HttpCode(200)
  async login(@Req() request: Request): Promise<TokenAnswer> {
    const signed = await this.bodies.of(request, SignedBody);
    if (signed.message !== LEGACY_MESSAGE) {
      const { owner, askedAt } = await this.signIn.accept(signed, OWNER_STATEMENT);
      return { token: await this.sessions.issue(owner, 'owner', { by: 'nonce', askedAt }) };
    }
    if (!this.settings.hasLegacyLogin) {
      throw new WalletError(
        'unauthorized',
        'The constant login message is off here. Sign a message from POST /v1/login/nonce.',
      );
    }
    const owner = this.signIn.signerOf(signed);
    await this.sessions.prepare(owner, request.ip);
    return { token: await this.sessions.issue(owner, 'agent', { by: 'legacy' }) };
  }

  @Post('logout')
  @HttpCode(200)
  @WalletAccess('session')
  async logout(@CurrentSession() session: Session): Promise<Readonly<Record<string, string>>> {
    await this.sessions.revoke(session);
    return { status: 'revoked' };
  }

  /** Ends every token of the wallet; the owner's way to send all agents away. */
  @Post('logout/all')
  @HttpCode(200)
  @WalletAccess('rules_maker')
  async logoutAll(@CurrentSession() session: Session): Promise<Readonly<Record<string, string>>> {
    await this.sessions.revokeAll(session);
    return { status: 'revoked' };
  }
}

/** @throws WalletError `invalid_request`. */
export function addressOf(text: string): Address {
  const address = readAddress(text);
  if (address !== undefined) return address;
  throw new WalletError('invalid_request', 'address: must be 0x and 40 hex digits');
}
