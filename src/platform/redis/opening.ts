import type { PinoLogger } from 'nestjs-pino';
import { StartError } from '../../protocol/errors.js';
import { delay } from '../concurrency/timing.js';
import type { Secret } from '../config/secret.js';
import type { SharedRedis } from './ledger-connections.js';
import { isCluster } from './redis-connection.js';
import { unusableRedis } from './redis-watch.js';
import { START_TIMEOUT_MS, whileStarting } from './while-starting.js';

/** Connections that are down, by the setting of their Redis, so that an outage is logged once for all of them. */
const down = new Map<string, Set<SharedRedis>>();

/** Connects in the background, and reconnects until `disconnect` is called. */
export function connecting<T extends SharedRedis>(
  redis: T,
  setting: string,
  logger: PinoLogger,
): T {
  const downHere = down.get(setting) ?? new Set<SharedRedis>();
  down.set(setting, downHere);
  redis.on('error', (error: Error) => {
    if (downHere.size === 0) {
      logger.warn({ setting, reason: error.message }, 'Redis is unreachable');
    }
    downHere.add(redis);
  });
  redis.on('ready', () => {
    if (downHere.delete(redis) && downHere.size === 0) {
      logger.info({ setting }, 'Redis is reachable again');
    }
  });
  redis.on('end', () => {
    downHere.delete(redis);
  });
  redis.connect().catch(() => undefined);
  return redis;
}

/**
 * Waits until Redis is reachable, because a process needs Redis to start. Later outages are tolerated.
 *
 * @throws Error if Redis does not answer in time.
 */
export async function opened<T extends SharedRedis>(
  redis: T,
  url: Secret<string>,
  logger: PinoLogger,
  setting = 'REDIS_URL',
): Promise<T> {
  let lastError: unknown;
  redis.on('error', (error: Error) => {
    lastError = error;
  });
  connecting(redis, setting, logger);
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (redis.status !== 'ready') {
    if (Date.now() > deadline) {
      redis.disconnect();
      const reason = lastError instanceof Error ? lastError.message : 'no answer';
      throw new StartError(`${setting}: Redis did not become reachable in 15 s (${reason})`);
    }
    await delay(50);
  }
  // In a Cluster, the connection leads to the owner of the slot, which is a primary.
  const problem = isCluster(url)
    ? undefined
    : await whileStarting(setting, () => unusableRedis(redis));
  if (problem !== undefined) {
    redis.disconnect();
    throw new StartError(`${setting}: ${problem}`);
  }
  return redis;
}
