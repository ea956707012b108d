import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { processesKey, processKey } from '../ledger/keys.js';
import * as lua from '../ledger/lua/report-scripts.js';
import { PRELUDE } from '../ledger/lua/prelude.js';
import { asTexts } from '../ledger/reply.js';
import { ledgerCall, runScript, script } from '../redis/redis-scripts.js';

/** A process of the deployment, as it reports itself. */
export interface ProcessReport {
  readonly process: string;
  readonly roles: readonly string[];
  readonly version: string;
}

const SCRIPTS = {
  report: script('report', PRELUDE + lua.REPORT_PROCESS),
  read: script('processes', PRELUDE + lua.READ_PROCESSES),
};

/** A process that is silent for this long has lost what it held; the ledger's scripts count on it. */
export const SILENT_AFTER_MS = 5000;
const REPORT_INTERVAL_MS = 1000;

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
    // Forgets those that died while nobody was here.
    await this.live();
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
    const texts = asTexts(await runScript(this.redis, SCRIPTS.read, []));
    return texts.map((text) => JSON.parse(text) as ProcessReport);
  }

  async #report(): Promise<void> {
    const report: ProcessReport = { process: this.process, ...this.about };
    const text = JSON.stringify(report);
    await runScript(this.redis, SCRIPTS.report, [this.process, text, SILENT_AFTER_MS]);
  }
}
