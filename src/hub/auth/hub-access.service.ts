import { Inject, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { Redis } from 'ioredis';
import { AppConfig } from '../../platform/config/app-config.js';
import { HUB_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { nonceKey } from '../index/keys.js';
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

/** What a request does with what is stored. */
export type Purpose = 'read' | 'list' | 'write' | 'remove';

/** Longer headers are not looked at. */
const HEADER_MAX = 8192;

/** Who may do what: anybody in a public hub, the signer of a request in a private one. */
@Injectable()
export class HubAccess {
  constructor(
    private readonly config: AppConfig,
    @Inject(RecoverHubSigner) private readonly recover: RecoverSigner,
    @Inject(HUB_REDIS) private readonly redis: Redis,
  ) {}

  /** @throws HubRefusal when the request needs a signature and has no good one. */
  async callerOf(request: Request, purpose: Purpose): Promise<Caller> {
    const { isPrivate, hasPublicReads } = this.config.hub;
    if (!isPrivate && purpose === 'remove') {
      throw HubRefusal.forbidden('nothing can be removed from a public hub');
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
   * The signer, of any hub and in any accepted form.
   *
   * @returns `undefined` without a signature.
   * @throws HubRefusal when the signature is no good one.
   */
  async signerOf(request: Request): Promise<Caller | undefined> {
    const header = request.headers.authorization?.trim();
    if (header === undefined || header === '') return undefined;
    if (header.length > HEADER_MAX) throw HubRefusal.unauthorized('decode auth: too long');
    const strict = readStrictAuthorization(header);
    if (strict !== undefined) return this.#strictCaller(strict, request);
    if (this.config.hub.isStrict) {
      throw HubRefusal.unauthorized('decode auth: this hub takes the strict form only');
    }
    return this.#legacyCaller(header);
  }

  /**
   * Who has signed this one request. Nothing less sets a price or takes a link back, whatever the hub takes otherwise.
   *
   * @throws HubRefusal without a strict signature.
   */
  async strictSignerOf(request: Request): Promise<Caller> {
    const header = request.headers.authorization?.trim() ?? '';
    if (header === '') throw HubRefusal.unauthorized('missing Authorization header');
    if (header.length > HEADER_MAX) throw HubRefusal.unauthorized('decode auth: too long');
    const strict = readStrictAuthorization(header);
    if (strict === undefined) {
      throw HubRefusal.unauthorized('decode auth: this takes the strict form only');
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
    const isNew = await redisCall(
      'hub nonce',
      // Kept a little longer than the signature: the clocks of two processes may differ.
      this.redis.set(nonceKey(verdict.signer, nonce), '1', 'EX', expiry - now + 60, 'NX'),
    );
    if (isNew === null) throw HubRefusal.unauthorized('verify auth: the nonce was used before');
    return Caller.signedBy(verdict.signer, bodySha256);
  }
}
