import { Controller, Get, HttpCode, Post, Query, Req, UseFilters, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import { type Address } from 'viem';
import { z } from 'zod';
import { AppConfig } from '../../platform/config/app-config.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { Sessions } from '../auth/sessions.js';
import { LEGACY_MESSAGE, SIGNATURE_MAX_BYTES, SignIn } from '../auth/sign-in.js';
import { Assertion } from '../passkeys/passkey.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { ApprovalService } from './approval.service.js';
import { CurrentSession, WalletAccess, WalletAuthGuard } from './wallet-auth.guard.js';
import { WalletBody } from './wallet-body.service.js';
import { WalletErrorFilter } from './wallet-error.filter.js';

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
const AskingToApprove = z.strictObject({ code: z.string().max(64), address: z.string().max(64) });
const Collecting = z.strictObject({ code: z.string().max(128) });
const Approval = z.strictObject({ code: z.string().max(64), ...SignedBody.shape });

interface TokenAnswer {
  readonly token: string;
}

/** How owners and agents get their tokens; paths and answers of the published wallet skill. */
@Controller('v1')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class SignInV1Controller {
  constructor(
    private readonly bodies: WalletBody,
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly approvals: ApprovalService,
    private readonly config: AppConfig,
  ) {}

  /**
   * Clients post `true`, an object or nothing; what it is does not matter. `code` is the agent's secret;
   * the link has the user code alone.
   */
  @Post('init')
  @HttpCode(200)
  async init(): Promise<Readonly<Record<string, string>>> {
    const { deviceCode, userCode, url } = await this.approvals.ask();
    return { code: deviceCode, user_code: userCode, auth_url: url, authUrl: url };
  }

  /** As published clients ask. The agent's secret is in the URL: who can, posts it. */
  @Get('status')
  async statusByQuery(@Query('code') code: unknown): Promise<Readonly<Record<string, string>>> {
    return this.#statusOf(typeof code === 'string' ? code : '');
  }

  @Post('status')
  @HttpCode(200)
  async status(@Req() request: Request): Promise<Readonly<Record<string, string>>> {
    const { code } = await this.bodies.of(request, Collecting);
    return this.#statusOf(code);
  }

  @Post('login/nonce')
  @HttpCode(200)
  async nonce(@Req() request: Request): Promise<Readonly<Record<string, unknown>>> {
    const { address } = await this.bodies.of(request, Asking);
    return { ...(await this.signIn.challenge(addressOf(address), OWNER_STATEMENT)) };
  }

  @Post('login')
  @HttpCode(200)
  async login(@Req() request: Request): Promise<TokenAnswer> {
    const signed = await this.bodies.of(request, SignedBody);
    if (signed.message !== LEGACY_MESSAGE) {
      const { owner, askedAt } = await this.signIn.accept(signed, OWNER_STATEMENT);
      return { token: await this.sessions.issue(owner, 'owner', { by: 'nonce', askedAt }) };
    }
    if (this.config.wallet?.hasLegacyLogin !== true) {
      throw new WalletError(
        'unauthorized',
        'The constant login message is off here. Sign a message from POST /v1/login/nonce.',
      );
    }
    const owner = this.signIn.signerOf(signed);
    return { token: await this.sessions.issue(owner, 'agent', { by: 'legacy' }) };
  }

  /** For the approval page: the rules, and the message that approves an agent under them. */
  @Post('approve/nonce')
  @HttpCode(200)
  async approvalNonce(@Req() request: Request): Promise<Readonly<Record<string, unknown>>> {
    const { code, address } = await this.bodies.of(request, AskingToApprove);
    return { ...(await this.approvals.challenge(code, addressOf(address))) };
  }

  @Post('approve')
  @HttpCode(200)
  async approve(@Req() request: Request): Promise<Readonly<Record<string, string>>> {
    const { code, ...signed } = await this.bodies.of(request, Approval);
    await this.approvals.approve(code, signed);
    return { status: 'approved' };
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

  async #statusOf(deviceCode: string): Promise<Readonly<Record<string, string>>> {
    const { isPending, token } = await this.approvals.collect(deviceCode);
    if (isPending) return { status: 'pending' };
    return { status: 'completed', ...(token !== undefined && { token }) };
  }
}

/** @throws WalletError `invalid_request`. */
export function addressOf(text: string): Address {
  const address = readAddress(text);
  if (address !== undefined) return address;
  throw new WalletError('invalid_request', 'address: must be 0x and 40 hex digits');
}
