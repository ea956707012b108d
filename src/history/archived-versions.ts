import type { LedgerAt } from '../settlement/ledger/ledger-scripts.js';
import type { ChangeVersion, NotedChange } from '../settlement/ledger/outbox.js';

type EpochOfChain = Pick<LedgerAt, 'chainId' | 'epoch'>;

/** Far more than change within the time that entries wait; forgetting one costs a write. */
const KEPT_MOST = 20_000;

/**
 * As of which version each settlement was archived last. A settlement is archived as it was when it was read, so
 * the entries that its later changes had left by then say nothing new: of what gathers while the archive is away, or
 * is too slow, each settlement is written once.
 */
export class ArchivedVersions {
  readonly #versions = new Map<string, ChangeVersion>();

  constructor(private readonly most = KEPT_MOST) {}

  /** Those that say something that was not archived when they were noted. */
  news(at: EpochOfChain, changes: readonly NotedChange[]): readonly NotedChange[] {
    return changes.filter(({ id, noted }) => {
      const known = this.#versions.get(nameOf(at, id));
      return known === undefined || isAfter(noted, known);
    });
  }

  /** They are archived. */
  keep(at: EpochOfChain, changes: readonly NotedChange[]): void {
    for (const { id, version } of changes) {
      const name = nameOf(at, id);
      this.#versions.delete(name);
      this.#versions.set(name, version);
    }
    for (const name of this.#versions.keys()) {
      if (this.#versions.size <= this.most) return;
      this.#versions.delete(name);
    }
  }

  /** The archive may be another one. */
  forget(): void {
    this.#versions.clear();
  }
}

/** Entries of another epoch may have the same names. */
function nameOf({ chainId, epoch }: EpochOfChain, id: string): string {
  return `${chainId} ${epoch} ${id}`;
}

function isAfter(one: ChangeVersion, other: ChangeVersion): boolean {
  return one.ms === other.ms ? one.sequence > other.sequence : one.ms > other.ms;
}
