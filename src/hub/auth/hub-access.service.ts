import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { Redis } from 'ioredis';
import { AppConfig } from '../../platform/config/app-config.js';
import { HUB_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { nonceKey } from '../index/keys.js';
import { HubLimits } from '../limits/hub-limits.service.js';
import { nowSeconds } from '../now-seconds.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { Caller } from './caller.js';
import type { RecoverSigner } from './hub-signature.js';
import { readLegacyAuthorization, verifyLegacy } from './legacy-authorization.js';
import {
  readStrictAuthorization,
  type StrictAuthorization,
  verifyStrict,
} from './strict-authorization.js';

export const RecoverHubSigner = Symbol('RecoverHubSigner');

/** How a request uses stored files. */
export type Purpose = 'read' | 'list' | 'write' | 'remove';

/** Longer headers are refused. */
const HEADER_MAX = 8192;

/** Access to files: public in a public hub, for the signer of a request in a private one. */
@Injectable()
export class HubAccess {
  constructor(
    private readonly config: AppConfig,
    @Inject(RecoverHubSigner) private readonly recover: RecoverSigner,
    @Inject(HUB_REDIS) private readonly redis: Redis,
    private readonly limits: HubLimits,
  ) {}

  /** @throws HubRefusal when the request needs a signature and has no valid one. */
  async callerOf(request: Request, purpose: Purpose): Promise<Caller> {
    const { isPrivate, hasPublicReads } = this.config.hub;
    if (!isPrivate && purpose === 'remove') {
      throw HubRefusal.forbidden('files of a public hub cannot be removed');
    }
    if (!isPrivate || (purpose === 'read' && hasPublicReads)) return Caller.anyone;
    const caller = await this.signerOf(request);
    if (caller === undefined) {
      throw HubRefusal.unauthorized(
        purpose === 'list'
          ? 'listing requires a signed request (namespace enumeration is not public)'
          : 'missing Authorization header',
      );
    }
    return caller;
  }

  /**
   * The signer, in any hub and any accepted form.
   *
   * @returns `undefined` without a signature.
   * @throws HubRefusal when the signature is invalid.
   */
  async signerOf(request: Request): Promise<Caller | undefined> {
    const header = request.headers.authorization?.trim();
    if (header === undefined || header === '') return undefined;
    if (header.length > HEADER_MAX) throw HubRefusal.unauthorized('decode auth: too long');
    const strict = strictFormOf(header);
    if (strict !== undefined) return this.#strictCaller(strict, request);
    if (this.config.hub.isStrict) {
      throw HubRefusal.unauthorized('decode auth: this hub accepts only the strict form');
    }
    return this.#legacyCaller(header);
  }

  /**
   * The signer of this one request. Setting a price and revoking a link need a strict signature, in
   * any hub.
   *
   * @throws HubRefusal without a strict signature.
   */
  async strictSignerOf(request: Request): Promise<Caller> {
    const header = request.headers.authorization?.trim() ?? '';
    if (header === '') throw HubRefusal.unauthorized('missing Authorization header');
    if (header.length > HEADER_MAX) throw HubRefusal.unauthorized('decode auth: too long');
    const strict = strictFormOf(header);
    if (strict === undefined) {
      throw HubRefusal.unauthorized('decode auth: this request accepts only the strict form');
    }
    return this.#strictCaller(strict, request);
  }

  #legacyCaller(header: string): Caller {
    const authorization = readLegacyAuthorization(header);
    if (authorization === undefined) {
      throw HubRefusal.unauthorized('decode auth: not an authorization');
    }
    const { authWindowSeconds: windowSeconds, site } = this.config.hub;
    const { recover } = this;
    const rules = { recover, now: nowSeconds(), windowSeconds, site };
    const verdict = verifyLegacy(authorization, rules);
    if (!verdict.isValid) throw HubRefusal.unauthorized(verdict.message);
    return Caller.signedBy(verdict.signer);
  }

  async #strictCaller(authorization: StrictAuthorization, request: Request): Promise<Caller> {
    const signed = { method: request.method, path: request.originalUrl };
    const now = nowSeconds();
    const verdict = verifyStrict(authorization, signed, this.config.hub.address, this.recover, now);
    if (!verdict.isValid) throw HubRefusal.unauthorized(verdict.message);
    const { nonce, expiry, bodySha256 } = authorization;
    // A stranger can sign each request with another key.
    await this.limits.takeNote(verdict.signer);
    const isNew = await redisCall(
      'hub nonce',
      // Kept a little longer than the signature, because the clocks of two processes may differ.
      this.redis.set(nonceKey(verdict.signer, nonce), '1', 'EX', expiry - now + 60, 'NX'),
    );
    if (isNew === null) throw HubRefusal.unauthorized('verify auth: the nonce was used before');
    return Caller.signedBy(verdict.signer, bodySha256);
  }
}

/**
 * @returns `undefined` for another form.
 * @throws HubRefusal for a strict form that cannot be read.
 */
function strictFormOf(header: string): StrictAuthorization | undefined {
  const strict = readStrictAuthorization(header);
  if (strict !== 'malformed') return strict;
  throw HubRefusal.unauthorized(
    'decode auth: the strict form cannot be read; expected is base64url of {"owner","bodySha256","expiry","nonce","signature"}, with expiry as a number',
  );
}
