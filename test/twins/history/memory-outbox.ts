import { LedgerEpochChangedError, RedisUnavailableError } from '../../../src/protocol/errors.js';
import type { LedgerAt } from '../../../src/settlement/ledger/ledger-scripts.js';
import type {
  ArchiverLease,
  Backlog,
  ChangeVersion,
  NotedChange,
  Outbox,
  OutboxRead,
} from '../../../src/settlement/ledger/outbox.js';
import type { RecordedSettlement } from '../../../src/settlement/model/recorded-settlement.js';

/** {@link Outbox} of one chain in memory, with the ledger's records beside it. */
export class MemoryOutbox implements Outbox {
  readonly records = new Map<string, RecordedSettlement>();
  readonly entries: { readonly name: string; readonly id: string }[] = [];
  epoch = 'first';
  holder: string | undefined;
  isAway = false;
  /** The next step of trimming does not reach the ledger. */
  losesTrim = false;
  #next = 1;

  change(id: string, settlement: RecordedSettlement): void {
    this.records.set(id, settlement);
    this.entries.push({ name: `1700000000000-${this.#next}`, id });
    this.#next += 1;
  }

  /** The ledger is one that went back: its entries have the names it gave before. */
  goBack(epoch: string): void {
    this.epoch = epoch;
    this.entries.length = 0;
    this.#next = 1;
  }

  now(chainId: number): Promise<LedgerAt> {
    return this.#ask(() => ({ chainId, epoch: this.epoch }));
  }

  read(at: LedgerAt, { processId }: ArchiverLease, most: number): Promise<OutboxRead> {
    return this.#ask((): OutboxRead => {
      this.#assert(at);
      if (this.holder !== undefined && this.holder !== processId) return { kind: 'held' };
      this.holder = processId;
      const read = this.entries.slice(0, most);
      const version = { ms: 1_700_000_000_000, sequence: this.#next - 1 };
      const noted = new Map(read.map(({ id, name }) => [id, versionOf(name)]));
      const changes = [...noted].flatMap(([id, newest]): NotedChange[] => {
        const settlement = this.records.get(id);
        return settlement === undefined
          ? []
          : [{ kind: 'recorded', id, version, noted: newest, settlement }];
      });
      const gone = noted.size - changes.length;
      return { kind: 'read', last: read.at(-1)?.name, changes, gone };
    });
  }

  trim(at: LedgerAt, last: string): Promise<void> {
    return this.#ask(() => {
      this.#assert(at);
      if (this.losesTrim) {
        this.losesTrim = false;
        throw new RedisUnavailableError('trim', 'lost');
      }
      const index = this.entries.findIndex(({ name }) => name === last);
      this.entries.splice(0, index + 1);
    });
  }

  release(_chainId: number, processId: string): Promise<void> {
    if (this.holder === processId) this.holder = undefined;
    return Promise.resolve();
  }

  backlog(): Promise<Backlog> {
    return this.#ask(() => ({ entries: this.entries.length, oldestMs: 0 }));
  }

  #assert({ epoch }: LedgerAt): void {
    if (epoch !== this.epoch) throw new LedgerEpochChangedError('outbox');
  }

  #ask<T>(answer: () => T): Promise<T> {
    if (this.isAway) return Promise.reject(new RedisUnavailableError('outbox', 'away'));
    return Promise.resolve().then(answer);
  }
}

function versionOf(name: string): ChangeVersion {
  const [ms = 0, sequence = 0] = name.split('-').map(Number);
  return { ms, sequence };
}
