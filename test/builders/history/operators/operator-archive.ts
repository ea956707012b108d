import { randomUUID } from 'node:crypto';
import type { Address } from 'viem';
import type {
  ArchivedNote,
  AuditFilter,
  AuditRow,
  Closing,
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
    return this.#answer(() => pageIn(this.#found(filter), after, most));
  }

  totals(
    filter: SearchFilter,
    grouping: Parameters<OperatorArchive['totals']>[1],
    most: number,
  ): Answer<'totals'> {
    const found = this.#found(filter).filter(({ asset }) => asset !== null);
    return this.#answer(() => totalsIn(found, grouping, most));
  }

  note(id: string): Answer<'note'> {
    const isKnown = this.rows.some((row) => row.id.toString('base64url') === id);
    const note: ArchivedNote = { archivedAt: new Date(0), isTold: true, isKept: false };
    return this.#answer(() => (isKnown ? note : undefined));
  }

  closeUnclaimed({ id, by, at }: Closing): Answer<'closeUnclaimed'> {
    const noted = { action: 'unclaimed_closed', subject: id };
    return this.#answer(() => {
      const place = this.rows.findIndex((row) => row.id.toString('base64url') === id);
      const row = this.rows[place];
      if (row?.is_paid === true && row.sale === 'open' && row.unclaimed_at !== null) {
        this.rows[place] = { ...row, unclaimed_at: null };
        this.audit.push({ id: randomUUID(), chainId: row.chain_id, at, by, ...noted });
      }
      return this.audit.some(
        ({ action, subject }) => action === noted.action && subject === noted.subject,
      );
    });
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
    return this.#answer(() => sorted.slice(0, most));
  }

  deliveries(_: string, before: string | undefined): Answer<'deliveries'> {
    return this.#answer(() => (before === undefined ? [] : undefined));
  }

  eventsOf(_: string, most: number): Answer<'eventsOf'> {
    return this.#answer(() => this.events.slice(0, most));
  }

  runs(chainId: number | undefined, before: string | undefined, most: number): Answer<'runs'> {
    const found = this.kept
      .filter((run) => chainId === undefined || run.chainId === chainId)
      .filter(({ id }) => before === undefined || BigInt(id) < BigInt(before))
      .sort((a, b) => Number(BigInt(b.id) - BigInt(a.id)));
    return this.#answer(() => found.slice(0, most));
  }

  run(id: string): Answer<'run'> {
    return this.#answer(() => this.kept.find((run) => run.id === id));
  }

  lanesOf(): Answer<'lanesOf'> {
    return this.#answer(() => []);
  }

  differencesIn(runId: string, after: number, most: number): Answer<'differencesIn'> {
    const found = this.differences.filter((one) => one.runId === runId && one.number > after);
    return this.#answer(() => found.slice(0, most));
  }

  differencesOf(id: string, most: number): Answer<'differencesOf'> {
    const found = this.differences.filter(({ settlementId }) => settlementId === id);
    return this.#answer(() => found.slice(0, most));
  }

  actions(filter: AuditFilter, before: string | undefined, most: number): Answer<'actions'> {
    const { chainId, by, subject, from, to } = filter;
    const newest = [...this.audit].sort((a, b) => b.at.getTime() - a.at.getTime());
    const place = newest.findIndex(({ id }) => id === before);
    if (before !== undefined && place < 0) return this.#answer(() => undefined);
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
    return this.#answer(() => found.slice(0, most));
  }

  #found(filter: SearchFilter): SettlementRow[] {
    const { payTo, payer, leastAmount = '0' } = filter;
    const isAddress = (bytes: Buffer | null, address: Address | undefined): boolean =>
      address === undefined || bytes?.toString('hex') === address.slice(2);
    return this.rows.filter(
      (row) =>
        isOf(row, filter) &&
        isAddress(row.pay_to, payTo) &&
        isAddress(row.payer, payer) &&
        BigInt(row.settled_amount ?? row.amount ?? 0) >= BigInt(leastAmount),
    );
  }

  #answer<T>(answer: () => T): Promise<T> {
    return this.trouble === undefined ? Promise.resolve(answer()) : Promise.reject(this.trouble);
  }
}
