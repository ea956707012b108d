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

/** A command that has no answer by then is unknown: the caller decides what that means. */
const COMMAND_TIMEOUT_MS = 2000;
const RECONNECT_MAX_MS = 500;
/** Each attempt of BullMQ's that fails is a line in the log. */
const RECONNECT_QUEUE_MAX_MS = 2000;
/** A server that says nothing at all for so long to what was asked of it is gone: it is looked for afresh. */
const SILENT_MAX_MS = 5000;
/** Readers of BullMQ wait for a job up to 10 s in one command. */
const SILENT_READER_MAX_MS = 15_000;
/** A connection that only listens would never notice that its server is gone. */
const LISTENER_PING_MS = 2000;
const SENTINEL_ANSWER_MS = 1000;
/** Who has which slot is looked up at each failure, and so often besides. */
const SLOTS_KNOWN_MS = 5000;
const SLOTS_ANSWER_MS = 1000;
/** With pauses of {@link REDIRECT_PAUSE_MS}: a command fails before its caller gives up. */
const REDIRECTIONS_MAX = 8;
const REDIRECT_PAUSE_MS = 100;

/** Replies are mapped as they are everywhere. */
type Options = Omit<RedisOptions, 'replyMapping'>;

const SHARED_OPTIONS = {
  retryStrategy: waitingAtMost(RECONNECT_MAX_MS),
  connectTimeout: 2000,
  socketTimeout: SILENT_MAX_MS,
  // A command lost with its connection may have run. It is reported as failed, never sent again.
  autoResendUnfulfilledCommands: false,
} satisfies Options;

/**
 * For the ledger: fails at once while Redis is away, so that a request is answered in time.
 *
 * @param tag - the hash tag of all keys that this connection is for, here and below; it matters in a Cluster alone.
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

/** For commands on one key each, of any tag; as {@link connectLedger} where it is no Cluster. */
export function connectShared(url: Secret<string>): SharedRedis {
  const address = addressIn(url);
  return address.kind === 'cluster' ? clusterAt(address) : connectLedger(url);
}

export function isCluster(url: Secret<string>): boolean {
  return readRedisAddress(url.reveal()).address?.kind === 'cluster';
}

/** Where BullMQ puts its keys: in a Cluster into one slot, which `connection` must be for. */
export function queuePrefix(url: Secret<string>, tag: string): { readonly prefix?: string } {
  return isCluster(url) ? { prefix: `x402:{${tag}}:bull` } : {};
}

/** For adding jobs to queues: what a job that cannot be added while Redis is away is for, a sweep finds. */
export function connectProducer(url: Secret<string>, tag = DEPLOYMENT_TAG): Redis {
  return connectionTo(url, tag, {
    enableOfflineQueue: false,
    lazyConnect: true,
    retryStrategy: waitingAtMost(RECONNECT_QUEUE_MAX_MS),
    // Its steps may be done twice: a job has an id. BullMQ would wait for ever for one that is lost.
    maxRetriesPerRequest: null,
    autoResendUnfulfilledCommands: true,
  });
}

/** For a reader of a queue, from what adds to it: waits for jobs, and for Redis, as long as it takes. */
export function connectReader(producer: Redis): Redis {
  return producer.duplicate({
    enableOfflineQueue: true,
    lazyConnect: false,
    socketTimeout: SILENT_READER_MAX_MS,
    reconnectOnError: leavingFor(),
  });
}

/** For subscriptions: comes back by itself and subscribes again. */
export function connectSubscriber(url: Secret<string>): Redis {
  // A message published at any node of a Cluster reaches all of them.
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
  // Settings are read before anything is connected to.
  if (address === undefined) throw new TypeError('no address of a Redis');
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
    // Certificates have names; where they have none of a node, its address is as good.
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
    // Addresses that Sentinels tell of each other may be of a network that is not ours.
    updateSentinels: false,
  };
}

/**
 * The server has become a replica, the slot has moved, or the cluster is down: the connection has
 * to find the primary again.
 */
const IS_ELSEWHERE = /^(READONLY|MOVED|CLUSTERDOWN) /;
/** Without a primary each answer says so: the next look is as long after the last one. */
const LEAVES_EACH_MS = 500;

/**
 * When a connection leaves its server for an answer, and looks for another one. One for each connection.
 *
 * @param clock - milliseconds that only grow.
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
