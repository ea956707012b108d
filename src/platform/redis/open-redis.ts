import type { Redis } from 'ioredis';
import type { PinoLogger } from 'nestjs-pino';
import { StartError } from '../../protocol/errors.js';
import type { AppConfig } from '../config/app-config.js';
import { ledgerTag } from './hash-slot.js';
import { LedgerConnections, type SharedRedis } from './ledger-connections.js';
import { opened } from './opening.js';
import { connectLedger, connectShared, connectSubscriber, isCluster } from './redis-connection.js';
import { readUnsafe, setUpOf, type UnsafeSetUp } from './redis-watch.js';
import { whileStarting } from './while-starting.js';

const UNSAFE_FOR_LEDGER = ['aof_off', 'may_evict'] as const;

/** The Redis of the ledger. @throws StartError */
export async function openShared(config: AppConfig, logger: PinoLogger): Promise<SharedRedis> {
  const { ledger } = config.redis;
  const redis = await opened(connectShared(ledger), ledger, logger);
  // In a Cluster, the connection of each chain is checked instead.
  if (config.usesLedger && !isCluster(ledger)) {
    await checkSafe(redis, config, 'REDIS_URL', UNSAFE_FOR_LEDGER);
  }
  return redis;
}

/**
 * The given connection, or one per ledger in a Cluster.
 *
 * @throws StartError
 */
export async function openLedgers(
  config: AppConfig,
  shared: SharedRedis,
  logger: PinoLogger,
): Promise<LedgerConnections> {
  const { ledger } = config.redis;
  if (!isCluster(ledger)) return new LedgerConnections(shared);
  const own = config.ledgerChainIds.map(ledgerTag).map(async (tag) => {
    const redis = await opened(connectLedger(ledger, tag), ledger, logger);
    await checkSafe(redis, config, 'REDIS_URL', UNSAFE_FOR_LEDGER);
    return [tag, redis] as const;
  });
  return new LedgerConnections(shared, new Map(await Promise.all(own)));
}

/** @throws StartError */
export function openSubscriber({ redis }: AppConfig, logger: PinoLogger): Promise<Redis> {
  return opened(connectSubscriber(redis.ledger), redis.ledger, logger);
}

/** The Redis of a role, if it has its own and the role is on; otherwise the Redis of the ledger. */
export function openFor(role: 'hub' | 'wallet', setting: string) {
  return async (
    config: AppConfig,
    ledger: SharedRedis,
    logger: PinoLogger,
  ): Promise<SharedRedis> => {
    if (!config.hasRole(role)) return ledger;
    const { redis } = config;
    const isShared = redis[role].reveal() === redis.ledger.reveal();
    const own = isShared
      ? ledger
      : await opened(connectLedger(redis[role]), redis[role], logger, setting);
    if (role === 'wallet') await checkSafe(own, config, setting, ['may_evict']);
    return own;
  };
}

/**
 * The promises of the service depend on a ledger that is neither lost nor evicted. In the wallet, revoked tokens
 * would be valid again if their revocation were evicted. So the start is refused, unless the operator allows it.
 *
 * @throws StartError
 */
async function checkSafe(
  redis: SharedRedis,
  { redis: urls }: AppConfig,
  setting: string,
  unsafe: readonly UnsafeSetUp[],
): Promise<void> {
  if (urls.mayBeUnsafe) return;
  const problem = readUnsafe(await whileStarting(setting, () => setUpOf(redis)), unsafe);
  if (problem === undefined) return;
  redis.disconnect();
  throw new StartError(
    `${setting}: this Redis may lose or evict data: ${problem}. To start anyway, for a trial, set REDIS_UNSAFE=true`,
  );
}
