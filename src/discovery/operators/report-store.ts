import type { Address } from 'viem';
import type { EntryName } from '../owned/statement.js';

/** What somebody says is wrong with an entry. */
export const REPORT_KINDS = [
  'not_answering',
  'wrong_payee',
  'misleading',
  'malware',
  'other',
] as const;
export type ReportKind = (typeof REPORT_KINDS)[number];

/** Which entry somebody means. */
export interface ReportedPlace {
  /** The URL, its template, or a URL that it stands for. */
  readonly resource: string;
  readonly payTo: Address | undefined;
  readonly chainId: number | undefined;
}

/** What was said of one entry. */
export interface Report {
  readonly entry: EntryName;
  readonly kind: ReportKind;
  /** Of a stranger; empty where there are none. */
  readonly words: string;
  readonly at: Date;
  /** A hash of who says it and of the day (UTC): forgotten once the day is over. */
  readonly reporter: Buffer;
}

/** How many reports there may be. */
export interface ReportBounds {
  /** That are open. */
  readonly open: number;
  /** Of these, of one entry. */
  readonly ofEntry: number;
  /** Of one reporter on one day. */
  readonly ofReporter: number;
  /** Of those that are closed, the newest of which are kept. */
  readonly closed: number;
}

export const REPORT_BOUNDS: ReportBounds = {
  ...{ open: 1000, ofEntry: 50, ofReporter: 20, closed: 1000 },
};

/** What became of a report; see {@link ReportBounds}. `again`: this reporter has reported this entry today. */
export type ReportOutcome = 'added' | 'again' | 'full' | 'entry_full' | 'reporter_full';

/** What is open about one entry. */
export interface ReportedEntry {
  /** 64 hex digits. */
  readonly id: string;
  /** As it was when it was reported last. */
  readonly entry: EntryName;
  readonly host: string;
  /** How many say what. */
  readonly counts: Readonly<Partial<Record<ReportKind, number>>>;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** The newest, at most {@link NEWEST_MOST}. */
  readonly newest: readonly Pick<Report, 'kind' | 'words' | 'at'>[];
}

/** Reports of one entry whose words are shown. */
export const NEWEST_MOST = 10;

/** An operator's decision about reports. */
export interface Dismissal {
  /** Id of the entry. */
  readonly id: string;
  readonly reason: string;
  /** Id of an API key. */
  readonly by: string;
  readonly at: Date;
}

/**
 * What strangers say against entries, and what operators make of it. A denial closes what is open about the
 * payee or the host.
 *
 * @throws ArchiveError from every method.
 */
export interface ReportStore {
  /** Entries that anybody is shown, paid last first. */
  entriesAt(place: ReportedPlace, since: Date, most: number): Promise<readonly EntryName[]>;

  /** Nothing is added beyond the bounds, however many come at once. */
  add(report: Report, bounds: ReportBounds): Promise<ReportOutcome>;

  /** Those with the most reports first. */
  open(most: number): Promise<readonly ReportedEntry[]>;

  /**
   * Closes what is open about an entry, and notes it in the audit in the same step.
   *
   * @returns how many there were.
   */
  dismiss(dismissal: Dismissal, bounds: ReportBounds): Promise<number>;
}
