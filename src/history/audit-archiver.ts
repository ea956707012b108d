import { Rounds } from '../platform/concurrency/rounds.js';
import { AtShutdown } from '../platform/lifecycle/at-shutdown.js';
import { RedisUnavailableError } from '../protocol/errors.js';
import type { AuditEntry } from '../settlement/ledger/audit-entry.js';
import type { AuditTrail } from '../settlement/ledger/audit-trail.js';

/** Takes an entry once, however often it is given. @throws ArchiveError */
export interface AuditTable {
  add(chainId: number, entries: readonly AuditEntry[]): Promise<void>;
}

interface AuditArchiverOptions {
  readonly trail: Pick<AuditTrail, 'newest' | 'all'>;
  readonly table: AuditTable;
  readonly chainIds: readonly number[];
  readonly failed: (error: unknown) => void;
}

const LOOK_MS = 2000;

/**
 * Copies what operators did into the table of the audit. It forgets nothing in Redis, so any number of
 * processes may do it at once, and one that dies leaves nothing undone.
 */
export class AuditArchiver {
  readonly #copied = new Map<number, string>();
  readonly #rounds = new Rounds(() => this.round());
  #isFailing = false;

  constructor(private readonly options: AuditArchiverOptions) {}

  start(): void {
    this.#rounds.start();
  }

  @AtShutdown('archive', 'audit')
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Never fails; what could not be copied is copied the next time. @returns how long to pause. */
  async round(): Promise<number> {
    try {
      for (const chainId of this.options.chainIds) await this.#copy(chainId);
      this.#isFailing = false;
    } catch (error) {
      // One line for an outage; that the ledger is away is told by others.
      if (!this.#isFailing && !(error instanceof RedisUnavailableError)) {
        this.options.failed(error);
      }
      this.#isFailing = true;
    }
    return LOOK_MS;
  }

  async #copy(chainId: number): Promise<void> {
    const { trail, table } = this.options;
    const newest = await trail.newest(chainId);
    if (newest === undefined || newest === this.#copied.get(chainId)) return;
    const entries = await trail.all(chainId);
    if (entries.length > 0) await table.add(chainId, entries);
    this.#copied.set(chainId, newest);
  }
}
