import { Redis, type RedisOptions } from 'ioredis';
import { readRedisAddress, type SentinelAddress } from '../config/redis-address.js';
import type { Secret } from '../config/secret.js';
import { connectorOf } from './sentinel-connector.js';

/** A command that has no answer by then is unknown: the caller decides what that means. */
const COMMAND_TIMEOUT_MS = 2000;
const RECONNECT_MAX_MS = 500;
/** Each attempt of BullMQ's that fails is a line in the log. */
const RECONNECT_QUEUE_MAX_MS = 2000;
/** A server that says nothing at all for so long to what was asked of it is gone: it is looked for afresh. */
const SILENT_MAX_MS = 5000;
/** Readers of BullMQ wait for a job up to 10 s in one command. */
const SILENT_READER_MAX_MS = 15_000;
/** Who only listens would never notice that nobody is there any more. */
const LISTENER_PING_MS = 2000;
const SENTINEL_ANSWER_MS = 1000;

/** Replies are mapped as they are everywhere. */
type Options = Omit<RedisOptions, 'replyMapping'>;

const SHARED_OPTIONS = {
  retryStrategy: waitingAtMost(RECONNECT_MAX_MS),
  connectTimeout: 2000,
  socketTimeout: SILENT_MAX_MS,
  // A command lost with its connection may have run. It is reported as failed, never sent again.
  autoResendUnfulfilledCommands: false,
  // The server has become a replica: the primary is somewhere else.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies Options;

/** For the ledger: fails at once while Redis is away, so that a request is answered in time. */
export function connectLedger(url: Secret<string>): Redis {
  return connectionTo(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: true,
    commandTimeout: COMMAND_TIMEOUT_MS,
    lazyConnect: true,
  });
}

/** For adding jobs to queues: a job that cannot be added while Redis is away is found by a sweep. */
export function connectProducer(url: Secret<string>): Redis {
  return connectionTo(url, {
    enableOfflineQueue: false,
    lazyConnect: true,
    retryStrategy: waitingAtMost(RECONNECT_QUEUE_MAX_MS),
    // A job has an id of its own, and is added once. A queue whose first question is lost never works again.
    autoResendUnfulfilledCommands: true,
  });
}

/** For a reader of a queue: waits for jobs, and for Redis, as long as it takes. */
export function connectReader(url: Secret<string>): Redis {
  return connectionTo(url, {
    socketTimeout: SILENT_READER_MAX_MS,
    maxRetriesPerRequest: null,
    retryStrategy: waitingAtMost(RECONNECT_QUEUE_MAX_MS),
    // BullMQ makes its steps so that they may be done twice, and would wait for ever for one that is lost.
    autoResendUnfulfilledCommands: true,
  });
}

/** For subscriptions: comes back by itself and subscribes again. */
export function connectSubscriber(url: Secret<string>): Redis {
  const redis = connectionTo(url, { maxRetriesPerRequest: null, lazyConnect: true });
  const timer = setInterval(() => {
    if (redis.status === 'ready') redis.ping().catch(() => undefined);
  }, LISTENER_PING_MS);
  timer.unref();
  redis.once('end', () => {
    clearInterval(timer);
  });
  return redis;
}

function waitingAtMost(maxMs: number): (attempt: number) => number {
  return (attempt) => Math.min(attempt * 50, maxMs);
}

function connectionTo(url: Secret<string>, options: Options): Redis {
  const { address } = readRedisAddress(url.reveal());
  // Settings are read before anything is connected to.
  if (address === undefined) throw new TypeError('no address of a Redis');
  const all = { ...SHARED_OPTIONS, ...options };
  return address.kind === 'primary'
    ? new Redis(address.url, all)
    : new Redis({ ...all, ...sentinelOptions(address) });
}

function sentinelOptions(address: SentinelAddress): Options {
  const { username, password, sentinelUsername, sentinelPassword } = address;
  return {
    Connector: connectorOf(address),
    sentinels: [...address.sentinels],
    name: address.master,
    db: address.database,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(sentinelUsername !== undefined && { sentinelUsername }),
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(address.isTls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: SENTINEL_ANSWER_MS,
    sentinelRetryStrategy: SHARED_OPTIONS.retryStrategy,
    // Addresses that Sentinels tell of each other may be of a network that is not ours.
    updateSentinels: false,
  };
}
