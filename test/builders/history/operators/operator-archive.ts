import type { Address } from 'viem';
import type {
  ArchivedNote,
  AuditFilter,
  AuditRow,
  KeptDifference,
  OperatorArchive,
  ReconciliationRun,
  ReportedEvent,
  SearchFilter,
  WebhookFilter,
  WebhookState,
} from '../../../../src/history/operators/operator-archive.js';
import type { SettlementRow } from '../../../../src/history/settlement-row.js';
import { isOf, pageIn, totalsIn } from '../sellers/settlement-reader.js';

type Answer<K extends keyof OperatorArchive> = ReturnType<OperatorArchive[K]>;

/** {@link OperatorArchive} of what a test puts in. It has no deliveries and no lanes. */
export class MemoryOperatorArchive implements OperatorArchive {
  readonly rows: SettlementRow[] = [];
  readonly states: WebhookState[] = [];
  readonly events: ReportedEvent[] = [];
  readonly kept: ReconciliationRun[] = [];
  readonly differences: KeptDifference[] = [];
  readonly audit: AuditRow[] = [];
  /** What every question is answered by. */
  trouble: Error | undefined;

  page(
    filter: SearchFilter,
    after: Parameters<OperatorArchive['page']>[1],
    most: number,
  ): Answer<'page'> {
    return this.#told(() => pageIn(this.#found(filter), after, most));
  }

  totals(
    filter: SearchFilter,
    grouping: Parameters<OperatorArchive['totals']>[1],
    most: number,
  ): Answer<'totals'> {
    const found = this.#found(filter).filter(({ asset }) => asset !== null);
    return this.#told(() => totalsIn(found, grouping, most));
  }

  note(id: string): Answer<'note'> {
    const isKnown = this.rows.some((row) => row.id.toString('base64url') === id);
    const note: ArchivedNote = { archivedAt: new Date(0), isTold: true, isKept: false };
    return this.#told(() => (isKnown ? note : undefined));
  }

  webhooks({ owner, status, after }: WebhookFilter, most: number): Answer<'webhooks'> {
    const found = this.states.filter(({ webhook: { id, failingSince, disabled, ...webhook } }) => {
      const isDisabled = disabled !== undefined;
      const state = isDisabled ? 'disabled' : failingSince === undefined ? 'enabled' : 'failing';
      return (
        (owner === undefined || webhook.owner === owner) &&
        (status === undefined || state === status) &&
        (after === undefined || id > after)
      );
    });
    const sorted = found.sort((a, b) => (a.webhook.id < b.webhook.id ? -1 : 1));
    return this.#told(() => sorted.slice(0, most));
  }

  deliveries(_: string, before: string | undefined): Answer<'deliveries'> {
    return this.#told(() => (before === undefined ? [] : undefined));
  }

  eventsOf(_: string, most: number): Answer<'eventsOf'> {
    return this.#told(() => this.events.slice(0, most));
  }

  runs(chainId: number | undefined, before: string | undefined, most: number): Answer<'runs'> {
    const found = this.kept
      .filter((run) => chainId === undefined || run.chainId === chainId)
      .filter(({ id }) => before === undefined || BigInt(id) < BigInt(before))
      .sort((a, b) => Number(BigInt(b.id) - BigInt(a.id)));
    return this.#told(() => found.slice(0, most));
  }

  run(id: string): Answer<'run'> {
    return this.#told(() => this.kept.find((run) => run.id === id));
  }

  lanesOf(): Answer<'lanesOf'> {
    return this.#told(() => []);
  }

  differencesIn(runId: string, after: number, most: number): Answer<'differencesIn'> {
    const found = this.differences.filter((one) => one.runId === runId && one.number > after);
    return this.#told(() => found.slice(0, most));
  }

  differencesOf(id: string, most: number): Answer<'differencesOf'> {
    const found = this.differences.filter(({ settlementId }) => settlementId === id);
    return this.#told(() => found.slice(0, most));
  }

  actions(filter: AuditFilter, before: string | undefined, most: number): Answer<'actions'> {
    const { chainId, by, subject, from, to } = filter;
    const newest = [...this.audit].sort((a, b) => b.at.getTime() - a.at.getTime());
    const place = newest.findIndex(({ id }) => id === before);
    if (before !== undefined && place < 0) return this.#told(() => undefined);
    const found = newest
      .slice(place + 1)
      .filter((one) =>
        [
          chainId === undefined || one.chainId === chainId,
          by === undefined || one.by === by,
          subject === undefined || one.subject === subject,
          from === undefined || one.at >= from,
          to === undefined || one.at < to,
        ].every(Boolean),
      );
    return this.#told(() => found.slice(0, most));
  }

  #found(filter: SearchFilter): SettlementRow[] {
    const { payTo, payer } = filter;
    const isAddress = (bytes: Buffer | null, address: Address | undefined): boolean =>
      address === undefined || bytes?.toString('hex') === address.slice(2);
    return this.rows.filter(
      (row) => isOf(row, filter) && isAddress(row.pay_to, payTo) && isAddress(row.payer, payer),
    );
  }

  #told<T>(answer: () => T): Promise<T> {
    return this.trouble === undefined ? Promise.resolve(answer()) : Promise.reject(this.trouble);
  }
}
