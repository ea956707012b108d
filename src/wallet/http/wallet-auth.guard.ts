import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import { placeOf } from '../../protocol/diagnosis/place.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { WalletLimiter } from '../accounts/new-wallets.js';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { Bearers } from '../oauth/access-tokens.js';
import { challengeOf, scopesOffered } from '../oauth/oauth-names.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';

const MINUTE_SECONDS = 60;

/**
 * Callers of a route: everyone, the bearer of a token, or a caller who may change the rules.
 * `resource`: OAuth tokens are accepted, too.
 */
export type WalletAccess = 'anybody' | 'session' | 'rules_maker' | 'resource';
export const WalletAccess = Reflector.createDecorator<WalletAccess>();

const SESSIONS = new WeakMap<Request, Session>();

/** The session of the request. */
export const CurrentSession = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const session = SESSIONS.get(context.switchToHttp().getRequest<Request>());
  if (session === undefined) throw new TypeError('this route has no session');
  return session;
});

/** Authenticates a request before any other work. */
@Injectable()
export class WalletAuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly bearers: Bearers,
    private readonly limiter: WalletLimiter,
    private readonly directory: WalletDirectory,
    @Inject(WALLET_SETTINGS) private readonly settings: WalletConfig,
  ) {}

  /** @throws WalletError */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    // Tokens and balances, some of them by GET without an Authorization.
    http.getResponse<Response>().setHeader('Cache-Control', 'no-store');
    const targets = [context.getHandler(), context.getClass()];
    switch (this.reflector.getAllAndOverride(WalletAccess, targets) as WalletAccess | undefined) {
      case 'anybody':
        await this.#limitAnonymous(request);
        break;
      case 'rules_maker':
        SESSIONS.set(request, await this.#rulesMaker(request));
        break;
      case 'resource':
        SESSIONS.set(request, await this.#resource(request));
        break;
      // A route without a declared access is not open.
      case 'session':
      case undefined:
        SESSIONS.set(request, await this.#session(request));
    }
    return true;
  }

  /** Everybody, within a rate limit. @throws WalletError */
  async #limitAnonymous(request: Request): Promise<void> {
    await this.#count(`ip:${addressGroup(request.ip)}`);
  }

  /** The bearer of a token of either kind; without a token the answer says where to get one. */
  async #resource(request: Request): Promise<Session> {
    const { settings } = this;
    if (!settings.hasOAuth) return this.#session(request);
    const { authorization } = request.headers;
    try {
      return await this.#session(request, (given) => this.bearers.any(given, request.ip));
    } catch (error) {
      if (!(error instanceof WalletError) || error.code !== 'unauthorized') throw error;
      const problem = authorization === undefined ? undefined : 'invalid_token';
      const challenge = challengeOf(settings.publicUrl, scopesOffered(settings), problem);
      throw new WalletError('unauthorized', error.message, { challenge });
    }
  }

  /** The bearer of a token. @throws WalletError */
  async #session(
    request: Request,
    read = (given: string | undefined): Promise<Session> => this.bearers.own(given, request.ip),
  ): Promise<Session> {
    const { authorization } = request.headers;
    let session: Session;
    try {
      session = await read(authorization);
    } catch (error) {
      // A wrong token counts against the limit of anonymous requests, so that guessing is limited.
      if (error instanceof WalletError && error.code === 'unauthorized')
        await this.#limitAnonymous(request);
      throw error;
    }
    await this.#count(`wallet:${session.wallet.address}`);
    return session;
  }

  /** The owner, or the operator for `?owner=`: both may change the rules. @throws WalletError */
  async #rulesMaker(request: Request): Promise<Session> {
    const key = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (key !== undefined && this.#isAdminKey(key)) {
      const owner = readAddress(request.query['owner']);
      if (owner === undefined) {
        const place = placeOf('owner', 'an address', request.query['owner']);
        throw new WalletError('invalid_request', 'Name the owner: ?owner=0x…', { place });
      }
      const wallet = await this.directory.walletOf(owner);
      return { owner, wallet, role: 'owner', tokenId: 'admin', expiresAt: 0, generation: 0 };
    }
    const session = await this.#session(request);
    if (session.role === 'owner') return session;
    throw new WalletError(
      'forbidden',
      'Only the owner, signed in with a nonce, or the operator may change the rules.',
    );
  }

  async #count(caller: string): Promise<void> {
    const perMinute = this.settings.requestsPerMinute;
    const rate = { requests: perMinute, seconds: MINUTE_SECONDS, burst: perMinute };
    const { isAllowed, retryAfterSeconds } = await this.limiter.take(caller, rate);
    if (isAllowed) return;
    throw new WalletError('rate_limited', 'Too many requests.', { retryAfterSeconds });
  }

  #isAdminKey(given: string): boolean {
    const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
    const keys = this.settings.adminKeys;
    return keys.some((key) => timingSafeEqual(digest(key.reveal()), digest(given)));
  }
}
