import {
  Controller,
  Get,
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
import { BODY_TIMEOUT_MS } from '../../platform/http/request-body.js';
import { WalletAccess, WalletAuthGuard } from '../http/wallet-auth.guard.js';
import { WalletErrorFilter } from '../http/wallet-error.filter.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { AUTHORIZATION_SERVER } from './authorization-server.js';
import { OAUTH_PATHS } from './oauth-names.js';

/** The cookies by which the library would keep a user signed in. */
const SESSION_COOKIE = /^_session(\.legacy)?(\.sig)?=/;

/** The endpoints, and the URL to which a browser returns. */
const PASSED: ReadonlySet<string> = new Set([
  OAUTH_PATHS.authorization,
  OAUTH_PATHS.token,
  OAUTH_PATHS.registration,
  OAUTH_PATHS.revocation,
]);
const RETURN = new RegExp(`^${OAUTH_PATHS.authorization}/[\\w-]+$`);

/** Passes requests to the library, for its own routes only. */
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

  /** A browser comes with a client's request, and returns after the owner has answered it. */
  @Get(['authorize', 'authorize/:uid'])
  authorize(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#pass(request, response);
  }

  @Post(['token', 'register', 'revoke'])
  post(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.#pass(request, response);
  }

  async #pass(request: Request, response: Response): Promise<void> {
    // The framework and the library ignore case and a trailing slash; the code before the library does not.
    if (!PASSED.has(request.path) && !RETURN.test(request.path)) throw new NotFoundException();
    bindTo(request, this.#publicUrl);
    // The library waits for a body as long as the server lets it.
    const timer = setTimeout(() => {
      if (!request.complete) request.destroy();
    }, BODY_TIMEOUT_MS);
    try {
      await this.server.callback()(request, response);
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * The settings name the URL of the service, because addresses and cookies are made from it. Each request begins without
 * a session, so that an owner's earlier visit answers nothing for this one.
 */
export function bindTo(request: Request, { protocol, host }: URL): void {
  const { headers } = request;
  headers.host = host;
  headers['x-forwarded-host'] = host;
  headers['x-forwarded-proto'] = protocol.slice(0, -1);
  const cookies = (headers.cookie ?? '').split(/; */).filter((one) => !SESSION_COOKIE.test(one));
  headers.cookie = cookies.join('; ');
}
