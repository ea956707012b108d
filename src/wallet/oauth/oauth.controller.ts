import {
  Controller,
  Get,
  HttpCode,
  Inject,
  NotFoundException,
  Post,
  Req,
  Res,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import type Provider from 'oidc-provider';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { AUTHORIZATION_SERVER } from './authorization-server.js';
import { OAUTH_PATHS } from './oauth-names.js';

/** The cookies by which the library would keep a user signed in. */
const SESSION_COOKIE = /^_session(\.legacy)?(\.sig)?=/;

/** The endpoints, and where a browser comes back to. */
const PASSED: ReadonlySet<string> = new Set([
  OAUTH_PATHS.authorization,
  OAUTH_PATHS.token,
  OAUTH_PATHS.registration,
  OAUTH_PATHS.revocation,
]);
const RETURN = new RegExp(`^${OAUTH_PATHS.authorization}/[\\w-]+$`);

/** What the library answers, and only that of it. */
@Controller('oauth')
@UseFilters(WalletErrorFilter)
@UseGuards(WalletAuthGuard)
@WalletAccess('anybody')
export class OAuthController {
  readonly #publicUrl: URL;

  constructor(
    @Inject(AUTHORIZATION_SERVER) private readonly server: Provider,
    @Inject(WALLET_SETTINGS) { publicUrl }: WalletConfig,
  ) {
    this.#publicUrl = new URL(publicUrl);
  }

  /** A browser comes with a request of a client; comes back after the owner has answered it. */
  @Get(['authorize', 'authorize/:uid'])
  authorize(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#pass(request, response);
  }

  @Post('token')
  @HttpCode(200)
  token(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#pass(request, response);
  }

  @Post('register')
  register(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#pass(request, response);
  }

  @Post('revoke')
  @HttpCode(200)
  revoke(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#pass(request, response);
  }

  async #pass(request: Request, response: Response): Promise<void> {
    // The framework and the library fold case and a last slash; what is read before the library does not.
    if (!PASSED.has(request.path) && !RETURN.test(request.path)) throw new NotFoundException();
    bindTo(request, this.#publicUrl);
    await this.server.callback()(request, response);
  }
}

/**
 * Under which name a request came is said by the settings: addresses and cookies are made from it. Each
 * request begins without a session, so that an owner's earlier visit answers nothing for this one.
 */
export function bindTo(request: Request, { protocol, host }: URL): void {
  const { headers } = request;
  headers.host = host;
  headers['x-forwarded-host'] = host;
  headers['x-forwarded-proto'] = protocol.slice(0, -1);
  const cookies = (headers.cookie ?? '').split(/; */).filter((one) => !SESSION_COOKIE.test(one));
  headers.cookie = cookies.join('; ');
}
