import { Cluster, Redis, type RedisOptions } from 'ioredis';
import {
  type ClusterAddress,
  readRedisAddress,
  type RedisAddress,
  type SentinelAddress,
} from '../config/redis-address.js';
import type { Secret } from '../config/secret.js';
import { DEPLOYMENT_TAG } from './hash-slot.js';
import type { SharedRedis } from './ledger-connections.js';
import { connectorOf } from './sentinel-connector.js';
import { slotConnectorOf } from './slot-connector.js';

/** After this time the result of a command is unknown, and the caller decides. */
const COMMAND_TIMEOUT_MS = 2000;
const RECONNECT_MAX_MS = 500;
/** Maximum pause between attempts of BullMQ, each of which logs a line. */
const RECONNECT_QUEUE_MAX_MS = 2000;
/** A server that does not answer for this long is replaced by a new connection. */
const SILENT_MAX_MS = 5000;
/** Readers of BullMQ wait for a job up to 10 s in one command. */
const SILENT_READER_MAX_MS = 15_000;
/** A connection that only listens would not notice the loss of its server without pings. */
const LISTENER_PING_MS = 2000;
const SENTINEL_ANSWER_MS = 1000;
/** Slot owners are looked up after each failure, and at this interval. */
const SLOTS_KNOWN_MS = 5000;
const SLOTS_ANSWER_MS = 1000;
/** With pauses of {@link REDIRECT_PAUSE_MS}, a command fails before its caller gives up. */
const REDIRECTIONS_MAX = 8;
const REDIRECT_PAUSE_MS = 100;

/** The types of replies are the default ones. */
type Options = Omit<RedisOptions, 'replyMapping'>;

const SHARED_OPTIONS = {
  retryStrategy: waitingAtMost(RECONNECT_MAX_MS),
  connectTimeout: 2000,
  socketTimeout: SILENT_MAX_MS,
  // A command that was lost with its connection may have run, so it fails and is never sent again.
  autoResendUnfulfilledCommands: false,
} satisfies Options;

/**
 * A connection for the ledger. It fails at once while Redis is unreachable, so that requests are answered in time.
 *
 * @param tag - the hash tag of all keys on this connection (also below); it only matters in a Cluster.
 */
export function connectLedger(url: Secret<string>, tag = DEPLOYMENT_TAG): Redis {
  const options = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: true,
    commandTimeout: COMMAND_TIMEOUT_MS,
    lazyConnect: true,
  };
  return connectionTo(url, tag, options);
}

/** A connection for commands with one key each, of any hash tag; without a Cluster like {@link connectLedger}. */
export function connectShared(url: Secret<string>): SharedRedis {
  const address = addressIn(url);
  return address.kind === 'cluster' ? clusterAt(address) : connectLedger(url);
}

export function isCluster(url: Secret<string>): boolean {
  return readRedisAddress(url.reveal()).address?.kind === 'cluster';
}

/** The prefix of the keys of BullMQ. In a Cluster it puts them into one slot, which `connection` must belong to. */
export function queuePrefix(url: Secret<string>, tag: string): { readonly prefix?: string } {
  return isCluster(url) ? { prefix: `x402:{${tag}}:bull` } : {};
}

/** A connection for adding jobs. A job that cannot be added while Redis is unreachable is replaced by a sweep. */
export function connectProducer(url: Secret<string>, tag = DEPLOYMENT_TAG): Redis {
  return connectionTo(url, tag, {
    enableOfflineQueue: false,
    lazyConnect: true,
    retryStrategy: waitingAtMost(RECONNECT_QUEUE_MAX_MS),
    // Adding a job is idempotent, because a job has an id. Without this limit BullMQ would wait for ever for a lost
    // command.
    maxRetriesPerRequest: null,
    autoResendUnfulfilledCommands: true,
  });
}

/**
 * A connection for reading a queue, made from the connection that adds to it. It waits for jobs, and for Redis,
 * without a limit.
 */
export function connectReader(producer: Redis): Redis {
  return producer.duplicate({
    enableOfflineQueue: true,
    lazyConnect: false,
    socketTimeout: SILENT_READER_MAX_MS,
    reconnectOnError: leavingFor(),
  });
}

/** A connection for subscriptions, which reconnects and subscribes again by itself. */
export function connectSubscriber(url: Secret<string>): Redis {
  // In a Cluster a published message reaches all nodes.
  const options = { maxRetriesPerRequest: null, lazyConnect: true };
  const redis = connectionTo(url, DEPLOYMENT_TAG, options);
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

function addressIn(url: Secret<string>): RedisAddress {
  const { address } = readRedisAddress(url.reveal());
  // The settings were validated before.
  if (address === undefined) throw new TypeError('the URL of Redis has no address');
  return address;
}

function connectionTo(url: Secret<string>, tag: string, options: Options): Redis {
  const address = addressIn(url);
  const all = { ...SHARED_OPTIONS, reconnectOnError: leavingFor(), ...options };
  switch (address.kind) {
    case 'primary':
      return new Redis(address.url, all);
    case 'sentinel':
      return new Redis({ ...all, ...sentinelOptions(address) });
    case 'cluster':
      return new Redis({
        ...all,
        ...accountOf(address),
        Connector: slotConnectorOf(address, tag),
      });
  }
}

function accountOf({ username, password }: ClusterAddress): Options {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
}

function clusterAt(address: ClusterAddress): Cluster {
  return new Cluster([...address.nodes], {
    enableOfflineQueue: false,
    lazyConnect: true,
    clusterRetryStrategy: SHARED_OPTIONS.retryStrategy,
    slotsRefreshInterval: SLOTS_KNOWN_MS,
    slotsRefreshTimeout: SLOTS_ANSWER_MS,
    maxRedirections: REDIRECTIONS_MAX,
    retryDelayOnMoved: REDIRECT_PAUSE_MS,
    retryDelayOnFailover: REDIRECT_PAUSE_MS,
    retryDelayOnClusterDown: REDIRECT_PAUSE_MS,
    retryDelayOnTryAgain: REDIRECT_PAUSE_MS,
    // Certificates contain host names; a node without a name is identified by its address.
    ...(address.isTls && {
      dnsLookup: (name, found) => {
        found(null, name);
      },
    }),
    redisOptions: {
      ...accountOf(address),
      connectTimeout: SHARED_OPTIONS.connectTimeout,
      socketTimeout: SILENT_MAX_MS,
      commandTimeout: COMMAND_TIMEOUT_MS,
      ...(address.isTls && { tls: {} }),
    },
  });
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
    // Addresses that Sentinels report of each other may be unreachable from here.
    updateSentinels: false,
  };
}

/** Errors of a server that is a replica by now, or that lost the slot: the connection must find the primary again. */
const IS_ELSEWHERE = /^(READONLY|MOVED|CLUSTERDOWN) /;
/** Without a primary every answer has this error, so the search is repeated at this interval. */
const LEAVES_EACH_MS = 500;

/**
 * Decides for one connection when an answer makes it leave its server and search another one.
 *
 * @param clock - milliseconds that never decrease.
 */
export function leavingFor(
  clock: () => number = () => performance.now(),
): (error: Error) => boolean {
  let leftAt = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    if (!IS_ELSEWHERE.test(message) || clock() - leftAt < LEAVES_EACH_MS) return false;
    leftAt = clock();
    return true;
  };
}
