import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, Optional } from '@nestjs/common';
import type { RateLimitBucket, Scope } from '../../platform/config/access-settings.js';
import { AppConfig } from '../../platform/config/app-config.js';
import {
  type AccessDecision,
  type AccessPolicy,
  type AccessRule,
  CHALLENGE,
} from '../../platform/http/access.js';
import type { AnswerHeaders } from '../../platform/http/answer.js';
import { ClientAddresses } from '../../platform/http/client-address.js';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import { limitHeaders, RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { ApiKey } from './api-key.js';
import { ApiKeyStore } from './api-key-store.js';

interface RequestConfig {
  readonly access: Pick<AppConfig['access'], 'openScopes' | 'rateLimits'>;
}

/** The rate limit of facilitator requests. */
@Injectable()
export class AccessLimiter extends RateLimiter {
  constructor(@Inject(LEDGER_REDIS) redis: SharedRedis) {
    super(redis, 'facilitator');
  }
}

const NO_HEADERS: AnswerHeaders = {};

/**
 * Checks permissions first, then the rate. A request without a valid key costs one hash and is not counted; Redis is
 * asked only where the route has a limit.
 */
@Injectable()
export class RequestAccess implements AccessPolicy {
  readonly #limits: AppConfig['access']['rateLimits'];
  readonly #openScopes: ReadonlySet<Scope>;

  /** @param keys - absent where no key is required. */
  constructor(
    @Inject(AppConfig) { access }: RequestConfig,
    private readonly addresses: ClientAddresses,
    @Inject(AccessLimiter) private readonly limiter: Pick<RateLimiter, 'take'>,
    @Optional() @Inject(ApiKeyStore) private readonly keys?: Pick<ApiKeyStore, 'find'>,
  ) {
    this.#limits = access.rateLimits;
    this.#openScopes = access.openScopes;
  }

  decide(
    request: IncomingMessage,
    { scope, bucket }: AccessRule,
  ): AccessDecision | Promise<AccessDecision> {
    const { keys } = this;
    const presented = keys === undefined ? undefined : presentedKey(request, scope);
    const key = presented === undefined ? undefined : keys?.find(presented);
    // Also for a key without the scope, because the limit counts by key.
    const caller = key?.id;
    if (keys !== undefined && scope !== undefined && !this.#mayUse(scope, presented, key)) {
      // Repeating the request with the same key is useless (RFC 9110, sections 15.5.2 and 15.5.4).
      return key === undefined
        ? { refusal: 401, caller, headers: CHALLENGE }
        : { refusal: 403, caller, headers: NO_HEADERS };
    }
    // Payees that the key may list, for routes with lists.
    const payees = key?.scopes.has('history') === true ? key.payees : undefined;
    const isOperator = key?.scopes.has('admin') === true || undefined;
    const maySimulate = key?.scopes.has('simulate') === true || undefined;
    const isKeyUnknown = (presented !== undefined && key === undefined) || undefined;
    const known = { payees, isOperator, maySimulate, isKeyUnknown };
    return bucket === undefined || this.#limits[bucket] === 0
      ? { refusal: undefined, caller, ...known, headers: NO_HEADERS }
      : this.#count(request, bucket, caller).then((counted) => ({ ...counted, ...known }));
  }

  /** An unknown key is refused even where none is required, because its owner believes that it is used. */
  #mayUse(scope: Scope, presented: string | undefined, key: ApiKey | undefined): boolean {
    if (!this.#openScopes.has(scope)) return key?.scopes.has(scope) === true;
    return presented === undefined || key !== undefined;
  }

  async #count(
    request: IncomingMessage,
    bucket: RateLimitBucket,
    caller: string | undefined,
  ): Promise<AccessDecision> {
    const limit = this.#limits[bucket];
    const name =
      caller === undefined ? `ip:${addressGroup(this.addresses.of(request))}` : `key:${caller}`;
    try {
      const rate = { requests: limit, seconds: 1, burst: limit };
      const verdict = await this.limiter.take(`${bucket}:${name}`, rate);
      const headers = limitHeaders(verdict);
      return verdict.isAllowed
        ? { refusal: undefined, caller, headers }
        : {
            refusal: 429,
            caller,
            headers: { 'Retry-After': verdict.retryAfterSeconds, ...headers },
          };
    } catch (error) {
      // During an outage of Redis the request continues and gets the service's own answer to that.
      if (error instanceof RedisUnavailableError) {
        return { refusal: undefined, caller, headers: NO_HEADERS };
      }
      throw error;
    }
  }
}

/** `X-API-Key`, otherwise a bearer token; hub and operator routes use `Authorization` for other schemes. */
function presentedKey({ headers }: IncomingMessage, scope: Scope | undefined): string | undefined {
  const key = headers['x-api-key'];
  if (key !== undefined || scope === 'hub' || scope === 'admin') return key?.toString();
  return /^Bearer +([^\s]+)$/i.exec(headers.authorization ?? '')?.[1];
}
