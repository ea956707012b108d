import { createHash } from 'node:crypto';
import { ArchiveError } from '../../history/archive.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import { readResourceUrl } from '../../protocol/listing/resource-url.js';
import { plainText } from '../../protocol/listing/seller-words.js';
import { caip2Of, chainIdOf, chainIdOfV1Name } from '../../protocol/payment/network.js';
import { isJsonObject, readAddress } from '../../protocol/payment/wire-values.js';
import type { EntryName } from '../owned/statement.js';
import {
  REPORT_BOUNDS,
  REPORT_KINDS,
  type ReportedPlace,
  type ReportKind,
  type ReportOutcome,
  type ReportStore,
} from './report-store.js';

export interface ReportsParts {
  /** `undefined` where there is no catalogue. */
  readonly store: ReportStore | undefined;
  /** Hosts that are listed though they are not public. */
  readonly allow: ReadonlySet<string>;
  /** After this time without a payment an entry is not shown any more, ms. */
  readonly expiryMs: number;
  readonly now: () => number;
}

export const WORDS_MAX = 500;
/** Of one resource, of which some payees' are looked at. */
const ENTRIES_MOST = 20;

interface AskedReport {
  readonly place: ReportedPlace;
  readonly kind: ReportKind;
  readonly words: string;
}

const REFUSALS: Readonly<
  Record<Exclude<ReportOutcome, 'added'>, readonly [number, string, string]>
> = {
  again: [409, 'already_reported', 'You have reported this entry today; it is being looked at.'],
  entry_full: [409, 'reported_enough', 'This entry was reported often; it is being looked at.'],
  reporter_full: [
    429,
    'too_many_reports',
    'You have reported as many entries as one may in a day.',
  ],
  full: [503, 'reports_full', 'No more reports are taken until some were looked at.'],
};

/** Takes what anybody says against an entry. Nobody but operators is shown it. */
export class Reports {
  constructor(private readonly parts: ReportsParts) {}

  /**
   * @param address - of the client, as far as it is known.
   * @throws CodedError
   */
  async accept(
    body: unknown,
    address: string | undefined,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { store, now } = this.parts;
    if (store === undefined) {
      throw new CodedError(404, 'reports_off', 'This deployment keeps no catalogue.');
    }
    const { place, kind, words } = this.#read(body);
    const at = new Date(now());
    const entry = await told(this.#entryOf(store, place));
    const reporter = reporterOf(address, at);
    const outcome = await told(store.add({ entry, kind, words, at, reporter }, REPORT_BOUNDS));
    if (outcome !== 'added') throw new CodedError(...REFUSALS[outcome]);
    const { chainId, payTo, type, resource, call } = entry;
    return {
      ...{ code: 'reported', message: 'An operator will look at it; nobody else is shown it.' },
      ...{ network: caip2Of(chainId), payTo, type, resource, call, kind },
    };
  }

  async #entryOf(store: ReportStore, place: ReportedPlace): Promise<EntryName> {
    const since = new Date(this.parts.now() - this.parts.expiryMs);
    const [entry, ...others] = await store.entriesAt(place, since, ENTRIES_MOST);
    if (entry === undefined) {
      throw new CodedError(404, 'entry_unknown', 'Nothing like this is listed here.');
    }
    if (others.some(({ payTo }) => payTo !== entry.payTo)) {
      throw invalid('payTo', 'several are paid for this resource: name the one you mean');
    }
    return entry;
  }

  #read(body: unknown): AskedReport {
    const said = isJsonObject(body) ? body : {};
    const url = readResourceUrl(said['resource'], 'resource', this.parts.allow);
    if ('code' in url) throw invalid('resource', url.expected);
    const payTo = said['payTo'] === undefined ? undefined : readAddress(said['payTo']);
    if (said['payTo'] !== undefined && payTo === undefined) {
      throw invalid('payTo', 'must be an address: 0x and 40 hex digits');
    }
    const kind = REPORT_KINDS.find((one) => one === said['kind']);
    if (kind === undefined) throw invalid('kind', `must be one of ${REPORT_KINDS.join(', ')}`);
    return {
      place: { resource: url.origin + url.path, payTo, chainId: networkOf(said['network']) },
      ...{ kind, words: wordsOf(said['words']) },
    };
  }
}

function networkOf(said: unknown): number | undefined {
  if (said === undefined) return undefined;
  const chainId =
    typeof said === 'string' && said.length <= 64
      ? (chainIdOf(said) ?? chainIdOfV1Name(said))
      : undefined;
  if (chainId === undefined) throw invalid('network', 'must be a network such as eip155:56');
  return chainId;
}

/** As words of sellers are kept: of one line, without tags and what is not seen. */
function wordsOf(said: unknown): string {
  if (said === undefined) return '';
  if (typeof said !== 'string' || said.length > WORDS_MAX) {
    throw invalid('words', `must be a text of at most ${WORDS_MAX} characters`);
  }
  return plainText(said, WORDS_MAX).text ?? '';
}

const invalid = (field: string, problem: string): CodedError =>
  new CodedError(400, 'invalid_report', `${field}: ${problem}.`);

/** Enough to tell two apart on one day, and of no use on the next. */
function reporterOf(address: string | undefined, at: Date): Buffer {
  const day = at.toISOString().slice(0, 10);
  return createHash('sha256')
    .update(`${day} ${addressGroup(address)}`)
    .digest();
}

async function told<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    const message = 'The catalogue cannot be asked now; ask again.';
    throw new CodedError(503, 'catalogue_unavailable', message, error);
  }
}
