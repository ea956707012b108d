import { randomBytes } from 'node:crypto';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { redisCall, runKeyedScript } from '../../platform/redis/redis-scripts.js';
import { whileStarting } from '../../platform/redis/while-starting.js';
import { processesKey } from './keys.js';
import { asList, asTexts } from './reply.js';
import { loadScript } from './script-files.js';

/** A process of the deployment, as it reports itself. */
interface ProcessReport {
  readonly processId: string;
  readonly roles: readonly string[];
  readonly version: string;
}

const SCRIPTS = { report: loadScript('publish_status'), read: loadScript('read_statuses') };

/** A process that is silent for this long does not count any more. */
const SILENT_AFTER_MS = 5000;
const REPORT_INTERVAL_MS = 1000;

/** Reports this process to the others, and reads their reports. */
export class ProcessRegistry {
  /** Unique for ever. It contains none of the separators of the ledger. */
  readonly processId = randomBytes(10).toString('hex');
  #timer: NodeJS.Timeout | undefined;
  #isSilent = false;

  constructor(
    private readonly redis: SharedRedis,
    private readonly about: { readonly roles: readonly string[]; readonly version: string },
    private readonly onError: (error: unknown) => void = () => undefined,
  ) {}

  async start(): Promise<void> {
    await whileStarting('REDIS_URL', async () => {
      await this.#report();
      // Removes processes that died while no process was running.
      await this.live();
    });
    this.#timer = setInterval(() => void this.#reportAgain(), REPORT_INTERVAL_MS);
  }

  /** Removes this process from the registry. */
  @AtShutdown('process', 'process record')
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    try {
      await redisCall('leave', this.redis.hdel(processesKey(), this.processId));
    } catch (error) {
      // Other processes detect the end by the missing reports.
      this.onError(error);
    }
  }

  /** @throws RedisUnavailableError */
  async live(): Promise<readonly ProcessReport[]> {
    const [, texts] = asList(
      await runKeyedScript(this.redis, SCRIPTS.read, [processesKey()], [SILENT_AFTER_MS]),
    );
    return asTexts(texts).map(
      (text) => JSON.parse(text.slice(text.indexOf('|') + 1)) as ProcessReport,
    );
  }

  /** The next report makes up for a missed one; an outage is logged once. */
  async #reportAgain(): Promise<void> {
    try {
      await this.#report();
      this.#isSilent = false;
    } catch (error) {
      if (!this.#isSilent) this.onError(error);
      this.#isSilent = true;
    }
  }

  async #report(): Promise<void> {
    const report: ProcessReport = { processId: this.processId, ...this.about };
    const text = JSON.stringify(report);
    await runKeyedScript(this.redis, SCRIPTS.report, [processesKey()], [this.processId, text]);
  }
}
