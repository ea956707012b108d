import type { Redis } from 'ioredis';

/**
 * What a queue tool shows as not done, in the layout that BullMQ documents, whatever prefix the
 * queues have.
 */
export async function openJobsIn(redis: Redis): Promise<string[]> {
  const open: string[] = [];
  for (const meta of await redis.keys('*:meta')) {
    const queue = meta.slice(0, -':meta'.length);
    // A webhook that nothing reaches is tried again for days.
    if (queue.endsWith(':webhooks')) continue;
    for (const state of ['wait', 'active', 'paused'] as const) {
      const jobs = await redis.llen(`${queue}:${state}`);
      if (jobs > 0) open.push(`${jobs} jobs ${state}`);
    }
    for (const state of ['delayed', 'failed', 'completed', 'prioritized'] as const) {
      const jobs = await redis.zcard(`${queue}:${state}`);
      if (jobs > 0) open.push(`${jobs} jobs ${state}`);
    }
  }
  return open;
}
