import { rmSync } from 'node:fs';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { delay } from './client.js';
import { openJobsIn } from './open-jobs.js';

const NO_DISK = ['--appendonly', 'no'];

/** A Redis for the queues alone, without a disk, and what can happen to one. */
export class QueueRedis {
  readonly #redis: Redis;

  private constructor(private server: SandboxRedis) {
    this.#redis = new Redis(server.url, { maxRetriesPerRequest: null });
    this.#redis.on('error', () => undefined);
  }

  static async start(): Promise<QueueRedis> {
    return new QueueRedis(await startRedis(await freePort(), undefined, NO_DISK));
  }

  get url(): string {
    return this.server.url;
  }

  /** @param isRestored - with the content of its last save; empty otherwise. */
  async crash(awayMs: number, isRestored = false): Promise<void> {
    const { port, dir } = this.server;
    if (!isRestored) rmSync(`${dir}/dump.rdb`, { force: true });
    await this.#end();
    await delay(awayMs);
    this.server = await startRedis(port, dir, NO_DISK);
  }

  async save(): Promise<void> {
    await this.#redis.save();
  }

  async empty(): Promise<void> {
    await this.#redis.flushall();
  }

  /** It neither answers nor refuses for a while. */
  async freeze(ms: number): Promise<void> {
    const { child } = this.server;
    child.kill('SIGSTOP');
    await delay(ms);
    child.kill('SIGCONT');
  }

  openJobs(): Promise<string[]> {
    return openJobsIn(this.#redis);
  }

  async stop(): Promise<void> {
    this.#redis.disconnect();
    await this.#end();
    rmSync(this.server.dir, { recursive: true, force: true });
  }

  async #end(): Promise<void> {
    const { child } = this.server;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const isGone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await isGone;
  }
}
