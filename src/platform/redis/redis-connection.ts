import { Redis, type RedisOptions } from 'ioredis';
import type { Secret } from '../config/secret.js';

/** A command that has no answer by then is unknown: the caller decides what that means. */
const COMMAND_TIMEOUT_MS = 2000;
const RECONNECT_MAX_MS = 500;

const SHARED_OPTIONS = {
  retryStrategy: (attempt: number) => Math.min(attempt * 50, RECONNECT_MAX_MS),
  connectTimeout: 2000,
  // A command lost with its connection may have run. It is reported as failed, never sent again.
  autoResendUnfulfilledCommands: false,
} satisfies RedisOptions;

/** For the ledger: fails at once while Redis is away, so that a request is answered in time. */
export function connectLedger(url: Secret<string>): Redis {
  return new Redis(url.reveal(), {
    ...SHARED_OPTIONS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: true,
    commandTimeout: COMMAND_TIMEOUT_MS,
    lazyConnect: true,
  });
}

/** For subscriptions: comes back by itself and subscribes again. */
export function connectSubscriber(url: Secret<string>): Redis {
  return new Redis(url.reveal(), {
    ...SHARED_OPTIONS,
    maxRetriesPerRequest: null,
    lazyConnect: true,
  });
}
