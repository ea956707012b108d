import { createHash, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { z } from 'zod';
import { AppConfig } from '../../platform/config/app-config.js';
import { JsonBodyReader } from '../../platform/http/request-body.js';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import { RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import { isWithinBounds } from '../../protocol/payment/json-bounds.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { Sessions } from '../auth/sessions.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';

const MINUTE_SECONDS = 60;
/** Of a body: room for the largest rules and for typed data within its own bounds. */
const BODY_BOUNDS = { maxDepth: 24, maxValues: 50_000 } as const;

/** Who a request is from, before anything is done for it. */
@Injectable()
export class WalletAuthGuard {
  constructor(
    private readonly sessions: Sessions,
    private readonly limiter: RateLimiter,
    private readonly directory: WalletDirectory,
    private readonly bodies: JsonBodyReader,
    private readonly config: AppConfig,
  ) {}

  /** Anybody, but not too often. @throws WalletError */
  async anybody(request: Request): Promise<void> {
    await this.#count(`ip:${addressGroup(request.ip)}`);
  }

  /** The bearer of a token. @throws WalletError */
  async session(request: Request): Promise<Session> {
    const { authorization } = request.headers;
    let session: Session;
    try {
      session = await this.sessions.of(authorization);
    } catch (error) {
      // Guessing tokens costs as much as anything else without one.
      if (error instanceof WalletError && error.code === 'unauthorized')
        await this.anybody(request);
      throw error;
    }
    await this.#count(`wallet:${session.wallet.address}`);
    return session;
  }

  /** Who may change the rules: the owner, or the operator for `?owner=`. @throws WalletError */
  async rulesMaker(request: Request): Promise<Session> {
    const key = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (key !== undefined && this.#isAdminKey(key)) {
      const owner = readAddress(request.query['owner']);
      if (owner === undefined) {
        throw new WalletError('invalid_request', 'Name the owner: ?owner=0x…');
      }
      const wallet = await this.directory.walletOf(owner);
      return { owner, wallet, role: 'owner', tokenId: 'admin', expiresAt: 0 };
    }
    const session = await this.session(request);
    if (session.role === 'owner') return session;
    throw new WalletError(
      'forbidden',
      'Only the owner, signed in with a nonce, or the operator may change the rules.',
    );
  }

  /** The JSON body, of whatever shape. Asked for after it is known who asks. */
  async json(request: Request): Promise<unknown> {
    const { res: response } = request;
    if (response === undefined) throw new TypeError('Express links each request to its response');
    const body = await this.bodies.json(request, response);
    if (isWithinBounds(body, BODY_BOUNDS)) return body;
    throw new WalletError(
      'invalid_request',
      'The body is nested too deep, or has too many values.',
    );
  }

  /** The JSON body by its schema. @throws WalletError `invalid_request` naming what is wrong. */
  async body<T>(request: Request, schema: z.ZodType<T>): Promise<T> {
    const parsed = schema.safeParse(await this.json(request));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue?.path.map(String).join('.') ?? '';
    throw new WalletError(
      'invalid_request',
      `${where === '' ? 'The body' : where}: ${issue?.message ?? 'is not valid'}`,
    );
  }

  async #count(caller: string): Promise<void> {
    const perMinute = this.config.wallet?.requestsPerMinute ?? 1;
    const rate = { requests: perMinute, seconds: MINUTE_SECONDS, burst: perMinute };
    const { isAllowed, retryAfterSeconds } = await this.limiter.take(caller, rate);
    if (isAllowed) return;
    throw new WalletError('rate_limited', 'Too many requests.', { retryAfterSeconds });
  }

  #isAdminKey(given: string): boolean {
    const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
    const keys = this.config.wallet?.adminKeys ?? [];
    return keys.some((key) => timingSafeEqual(digest(key.reveal()), digest(given)));
  }
}
