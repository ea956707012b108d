import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PinoLogger } from 'nestjs-pino';
import {
  aSilentRedis,
  type SilentRedis,
} from '../../../test/builders/platform/redis/silent-redis.js';
import { delay } from '../concurrency/timing.js';
import type { AppConfig } from '../config/app-config.js';
import { Secret } from '../config/secret.js';
import { QueueConnections } from './queue-connections.js';

describe('connections of queues', () => {
  let silent: SilentRedis;
  beforeEach(async () => {
    silent = await aSilentRedis();
  });
  afterEach(() => silent.close());

  const until = async (count: number): Promise<void> => {
    for (let left = 100; left > 0 && silent.connections !== count; left -= 1) await delay(20);
    expect(silent.connections).toBe(count);
  };

  it('are one for all queues of a Redis, and closed with the process', async () => {
    const redis = { queue: silent.url, ledger: new Secret('redis://127.0.0.1:1') };
    const logger = { warn: () => undefined, info: () => undefined } as unknown as PinoLogger;
    const connections = new QueueConnections({ redis } as AppConfig, logger);
    const [one, other] = [await connections.optionsOf('a'), await connections.optionsOf('b')];
    expect(one.connection).toBe(other.connection);
    await until(1);
    await connections.onModuleDestroy();
    await until(0);
  });
});
