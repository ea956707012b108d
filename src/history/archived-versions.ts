import type { LedgerAt } from '../settlement/ledger/ledger-scripts.js';
import type { ChangeVersion, NotedChange } from '../settlement/ledger/outbox.js';

type EpochOfChain = Pick<LedgerAt, 'chainId' | 'epoch'>;

/** Far more than the settlements that change while entries wait. Forgetting one costs one more write. */
const KEPT_MOST = 20_000;

/**
 * The newest archived version of each settlement. Several outbox entries can name one settlement, and the first of
 * them already archives its newest version. So after an outage of the archive each settlement is written once.
 */
export class ArchivedVersions {
  readonly #versions = new Map<string, ChangeVersion>();

  constructor(private readonly most = KEPT_MOST) {}

  /** The changes that the archive did not have when they were read. */
  changed(at: EpochOfChain, changes: readonly NotedChange[]): readonly NotedChange[] {
    return changes.filter(({ id, noted }) => {
      const known = this.#versions.get(nameOf(at, id));
      return known === undefined || isAfter(noted, known);
    });
  }

  /** Remembers the versions of archived changes. */
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

  /** The database may have been replaced. */
  forget(): void {
    this.#versions.clear();
  }
}

/** Another epoch may have equal ids. */
function nameOf({ chainId, epoch }: EpochOfChain, id: string): string {
  return `${chainId} ${epoch} ${id}`;
}

function isAfter(one: ChangeVersion, other: ChangeVersion): boolean {
  return one.ms === other.ms ? one.sequence > other.sequence : one.ms > other.ms;
}
