import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { processesKey, processKey } from '../ledger/keys.js';
import { ledgerCall } from '../redis/redis-scripts.js';

/** A process of the deployment, as it reports itself. */
export interface ProcessReport {
  readonly process: string;
  readonly roles: readonly string[];
  readonly version: string;
  /** Milliseconds since the epoch of its last report, by its own clock. */
  readonly at: number;
}

/** A process that is silent for this long has lost what it held; the ledger's scripts count on it. */
export const SILENT_AFTER_MS = 5000;
const REPORT_INTERVAL_MS = 1000;
/** Reports older than this are swept away by whoever comes by. */
const FORGOTTEN_AFTER_MS = 60_000;

/** Reports this process to the others, and reads their reports. */
export class ProcessRegistry {
  /** Unique in the deployment and in time; holds none of the characters the ledger uses as marks. */
  readonly process = randomBytes(6).toString('hex');
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly about: { readonly roles: readonly string[]; readonly version: string },
  ) {}

  async start(): Promise<void> {
    await this.#report();
    this.#timer = setInterval(() => {
      // A missed report is made up for by the next one, or counts as silence, as it should.
      this.#report().catch(() => undefined);
    }, REPORT_INTERVAL_MS);
  }

  /** Leaves the deployment: what this process held is free at once. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await ledgerCall(
      'leave',
      this.redis.multi().del(processKey(this.process)).hdel(processesKey(), this.process).exec(),
    ).catch(() => undefined);
  }

  /** @throws LedgerUnavailableError */
  async live(): Promise<readonly ProcessReport[]> {
    const texts = await ledgerCall('processes', this.redis.hvals(processesKey()));
    const earliest = Date.now() - SILENT_AFTER_MS;
    return texts
      .map((text) => JSON.parse(text) as ProcessReport)
      .filter(({ at }) => at >= earliest);
  }

  async #report(): Promise<void> {
    const report: ProcessReport = { process: this.process, ...this.about, at: Date.now() };
    const results = await ledgerCall(
      'report',
      this.redis
        .multi()
        .set(processKey(this.process), '1', 'PX', SILENT_AFTER_MS)
        .hset(processesKey(), this.process, JSON.stringify(report))
        .hvals(processesKey())
        .exec(),
    );
    await this.#forget((results?.[2]?.[1] ?? []) as readonly string[]);
  }

  async #forget(texts: readonly string[]): Promise<void> {
    const earliest = Date.now() - FORGOTTEN_AFTER_MS;
    const old = texts
      .map((text) => JSON.parse(text) as ProcessReport)
      .filter(({ at }) => at < earliest)
      .map(({ process }) => process);
    if (old.length > 0) await this.redis.hdel(processesKey(), ...old);
  }
}
