import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, Optional } from '@nestjs/common';
import type { RateLimitBucket, Scope } from '../../platform/config/access-settings.js';
import { AppConfig } from '../../platform/config/app-config.js';
import {
  type AccessDecision,
  type AccessPolicy,
  type AccessRule,
  type AnswerHeaders,
  CHALLENGE,
} from '../../platform/http/access.js';
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
  readonly trustProxy: AppConfig['trustProxy'];
}

/** What requests of the facilitator are counted by. */
@Injectable()
export class AccessLimiter extends RateLimiter {
  constructor(@Inject(LEDGER_REDIS) redis: SharedRedis) {
    super(redis, 'facilitator');
  }
}

const NO_HEADERS: AnswerHeaders = {};

/**
 * Who may ask, then how often. A request without a good key costs a hash and is not counted; Redis is
 * asked only where the route has a limit.
 */
@Injectable()
export class RequestAccess implements AccessPolicy {
  readonly #limits: AppConfig['access']['rateLimits'];
  readonly #openScopes: ReadonlySet<Scope>;
  readonly #addresses: ClientAddresses;

  /** @param keys - absent where no key is asked for. */
  constructor(
    @Inject(AppConfig) { access, trustProxy }: RequestConfig,
    @Inject(AccessLimiter) private readonly limiter: Pick<RateLimiter, 'take'>,
    @Optional() @Inject(ApiKeyStore) private readonly keys?: Pick<ApiKeyStore, 'find'>,
  ) {
    this.#limits = access.rateLimits;
    this.#openScopes = access.openScopes;
    this.#addresses = new ClientAddresses(trustProxy);
  }

  decide(
    request: IncomingMessage,
    { scope, bucket }: AccessRule,
  ): AccessDecision | Promise<AccessDecision> {
    const { keys } = this;
    const presented = keys === undefined ? undefined : presentedKey(request, scope);
    const key = presented === undefined ? undefined : keys?.find(presented);
    // Without a scope too: the limit counts by key.
    const caller = key?.id;
    if (keys !== undefined && scope !== undefined && !this.#mayUse(scope, presented, key)) {
      // Asking again with the same key is of no use (RFC 9110, sections 15.5.2 and 15.5.4).
      return key === undefined
        ? { refusal: 401, caller, headers: CHALLENGE }
        : { refusal: 403, caller, headers: NO_HEADERS };
    }
    // What the key may list, for routes that list.
    const payees = key?.scopes.has('history') === true ? key.payees : undefined;
    const isOperator = key?.scopes.has('admin') === true || undefined;
    const maySimulate = key?.scopes.has('simulate') === true || undefined;
    const known = { payees, isOperator, maySimulate };
    return bucket === undefined || this.#limits[bucket] === 0
      ? { refusal: undefined, caller, ...known, headers: NO_HEADERS }
      : this.#count(request, bucket, caller).then((counted) => ({ ...counted, ...known }));
  }

  /** An unknown key is refused also where none is needed: its owner believes that it is used. */
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
      caller === undefined ? `ip:${addressGroup(this.#addresses.of(request))}` : `key:${caller}`;
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
      // Redis away: the answer is the true one that the service gives then, not a refusal.
      if (error instanceof RedisUnavailableError) {
        return { refusal: undefined, caller, headers: NO_HEADERS };
      }
      throw error;
    }
  }
}

/** `X-API-Key`, else a bearer token; `Authorization` on the hub and for operators is not ours. */
function presentedKey({ headers }: IncomingMessage, scope: Scope | undefined): string | undefined {
  const key = headers['x-api-key'];
  if (key !== undefined || scope === 'hub' || scope === 'admin') return key?.toString();
  return /^Bearer +([^\s]+)$/i.exec(headers.authorization ?? '')?.[1];
}
