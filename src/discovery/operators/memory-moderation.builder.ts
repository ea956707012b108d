import type { MemoryCatalogue } from '../memory-catalogue.builder.js';
import type { EntryName } from '../owned/statement.js';
import { callOf, entryIdNamed, hostOf, searchedOf } from '../postgres/entry-rows.js';
import type {
  Denial,
  DenialFilter,
  DenialName,
  ModeratedEntry,
  ModerationFilter,
  ModerationStore,
} from './moderation-store.js';
import {
  type Dismissal,
  NEWEST_MOST,
  type Report,
  type ReportBounds,
  type ReportedEntry,
  type ReportedPlace,
  type ReportKind,
  type ReportOutcome,
  type ReportStore,
} from './report-store.js';

/** What was done, as the audit has it. */
export interface Noted {
  readonly by: string;
  readonly action: string;
  readonly subject: string;
  readonly reason: string;
}

/** A store in memory, which keeps the contract of the one in PostgreSQL. */
export class MemoryModeration implements ModerationStore, ReportStore {
  readonly audit: Noted[] = [];
  readonly #denials = new Map<string, Denial>();
  readonly #reports: { readonly id: string; readonly report: Report; isOpen: boolean }[] = [];

  constructor(private readonly catalogue: MemoryCatalogue) {}

  async entries(
    { text, payTo, host }: ModerationFilter,
    after: string | undefined,
    most: number,
  ): Promise<readonly ModeratedEntry[] | undefined> {
    const found = (await this.#all())
      .filter((entry) => payTo === undefined || entry.payTo === payTo)
      .filter((entry) => host === undefined || entry.host === host)
      .filter(({ listing }) =>
        Object.values(searchedOf(listing)).some((said) =>
          said.toLowerCase().includes((text ?? '').toLowerCase()),
        ),
      );
    const place = found.findIndex(({ id }) => id === after);
    if (after !== undefined && place < 0) return undefined;
    return found.slice(place + 1, place + 1 + most);
  }

  denials(
    { kind, value }: DenialFilter,
    after: DenialName | undefined,
    most: number,
  ): Promise<readonly Denial[] | undefined> {
    const found = [...this.#denials.values()]
      .filter((one) => kind === undefined || one.kind === kind)
      .filter((one) => value === undefined || one.value === value)
      .sort(
        (a, b) =>
          b.at.getTime() - a.at.getTime() ||
          `${b.kind} ${b.value}`.localeCompare(`${a.kind} ${a.value}`),
      );
    const place = found.findIndex((one) => one.kind === after?.kind && one.value === after.value);
    if (after !== undefined && place < 0) return Promise.resolve(undefined);
    return Promise.resolve(found.slice(place + 1, place + 1 + most));
  }

  deny(denial: Denial, most: number): Promise<'denied' | 'unchanged' | 'full'> {
    const known = this.#denials.get(nameOf(denial));
    if (known?.reason === denial.reason) return Promise.resolve('unchanged');
    if (known === undefined && this.#denials.size >= most) return Promise.resolve('full');
    this.#denials.set(nameOf(denial), denial);
    this.catalogue.denied.add(denial.value);
    for (const one of this.#reports) {
      const { payTo, resource } = one.report.entry;
      const denied = denial.kind === 'host' ? hostOf(resource) : payTo;
      if (denied === denial.value) one.isOpen = false;
    }
    this.#note('catalogue_denied', denial);
    return Promise.resolve('denied');
  }

  allow(denial: Denial): Promise<'allowed' | 'unchanged'> {
    if (!this.#denials.delete(nameOf(denial))) return Promise.resolve('unchanged');
    this.catalogue.denied.delete(denial.value);
    this.#note('catalogue_allowed', denial);
    return Promise.resolve('allowed');
  }

  async entriesAt(
    { resource, payTo, chainId }: ReportedPlace,
    since: Date,
    most: number,
  ): Promise<readonly EntryName[]> {
    const found = await this.catalogue.page({ since, payTo, chainId }, { offset: 0 }, Infinity);
    return found
      .filter(({ listing }) => [listing.resource, listing.exampleUrl].includes(resource))
      .sort((a, b) => b.lastPaidAt.getTime() - a.lastPaidAt.getTime())
      .slice(0, most)
      .map(({ chainId: of, payTo: payee, listing }) => ({
        ...{ chainId: of, payTo: payee, type: listing.type, resource: listing.resource },
        call: callOf(listing),
      }));
  }

  add(report: Report, bounds: ReportBounds): Promise<ReportOutcome> {
    const id = entryIdNamed(report.entry).toString('hex');
    const mine = this.#reports.filter((one) => one.report.reporter.equals(report.reporter));
    const open = this.#reports.filter(({ isOpen }) => isOpen);
    if (mine.some((one) => one.id === id)) return Promise.resolve('again');
    if (mine.length >= bounds.ofReporter) return Promise.resolve('reporter_full');
    if (open.filter((one) => one.id === id).length >= bounds.ofEntry) {
      return Promise.resolve('entry_full');
    }
    if (open.length >= bounds.open) return Promise.resolve('full');
    this.#reports.push({ id, report, isOpen: true });
    return Promise.resolve('added');
  }

  open(most: number): Promise<readonly ReportedEntry[]> {
    const open = this.#reports.filter(({ isOpen }) => isOpen);
    const ids = [...new Set(open.map(({ id }) => id))];
    const reported = ids.map((id) => {
      const newestFirst = open.filter((one) => one.id === id).reverse();
      return reportedOf(
        id,
        newestFirst.map(({ report }) => report),
      );
    });
    const byCount = (a: ReportedEntry, b: ReportedEntry): number =>
      b.count - a.count || b.lastAt.getTime() - a.lastAt.getTime();
    return Promise.resolve(reported.sort(byCount).slice(0, most));
  }

  dismiss({ id, by, reason }: Dismissal): Promise<number> {
    const open = this.#reports.filter((one) => one.isOpen && one.id === id);
    for (const one of open) one.isOpen = false;
    if (open.length > 0) {
      const action = 'catalogue_reports_dismissed';
      this.audit.push({ by, action, subject: `entry:${id}`, reason });
    }
    return Promise.resolve(open.length);
  }

  #note(action: string, denial: Denial): void {
    this.audit.push({ by: denial.by, action, subject: nameOf(denial), reason: denial.reason });
  }

  /** Those that are denied too, which the catalogue itself shows to nobody. */
  async #all(): Promise<readonly ModeratedEntry[]> {
    const denied = [...this.catalogue.denied];
    this.catalogue.denied.clear();
    const found = this.catalogue.page({ since: new Date(0) }, { offset: 0 }, Infinity);
    for (const one of denied) this.catalogue.denied.add(one);
    return [...(await found)]
      .sort(
        (a, b) =>
          b.position.paidAt - a.position.paidAt || b.position.id.localeCompare(a.position.id),
      )
      .map(({ chainId, payTo, listing, firstPaidAt, lastPaidAt, otherPayees, position }) => {
        const host = hostOf(listing.resource);
        return {
          ...{ id: position.id, chainId, payTo, host, listing, firstPaidAt, lastPaidAt },
          ...{ otherPayees, denials: this.#denialsOf([`host:${host}`, `payee:${payTo}`]) },
        };
      });
  }

  #denialsOf(names: readonly string[]): readonly Denial[] {
    return names.flatMap((name) => {
      const denial = this.#denials.get(name);
      return denial === undefined ? [] : [denial];
    });
  }
}

const nameOf = ({ kind, value }: DenialName): string => `${kind}:${value}`;

function reportedOf(id: string, newestFirst: readonly Report[]): ReportedEntry {
  const [last] = newestFirst;
  if (last === undefined) throw new Error('nothing was reported');
  const counts: Partial<Record<ReportKind, number>> = {};
  for (const { kind } of newestFirst) counts[kind] = (counts[kind] ?? 0) + 1;
  return {
    ...{ id, entry: last.entry, host: hostOf(last.entry.resource), counts },
    ...{ count: newestFirst.length, firstAt: newestFirst.at(-1)?.at ?? last.at, lastAt: last.at },
    newest: newestFirst.slice(0, NEWEST_MOST).map(({ kind, words, at }) => ({ kind, words, at })),
  };
}
