import type {
  Denial,
  DenialFilter,
  DenialName,
  ModeratedEntry,
  ModerationFilter,
  ModerationStore,
} from '../../../../src/discovery/operators/moderation-store.js';
import { hostOf, searchedOf } from '../../../../src/discovery/postgres/entry-rows.js';
import { hasWords, type MemoryCatalogue } from '../memory-catalogue.js';

/** An action of an operator, as the audit trail has it. */
export interface Noted {
  readonly by: string;
  readonly action: string;
  readonly subject: string;
  readonly reason: string;
}

/** A store in memory, which keeps the contract of the one in PostgreSQL. */
export class MemoryModeration implements ModerationStore {
  readonly audit: Noted[] = [];
  readonly #denials = new Map<string, Denial>();

  constructor(private readonly catalogue: MemoryCatalogue) {}

  async entries(
    { text, payTo, host }: ModerationFilter,
    after: string | undefined,
    most: number,
  ): Promise<readonly ModeratedEntry[] | 'unreadable' | undefined> {
    if (text !== undefined && !hasWords(text)) return 'unreadable';
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
    this.#note('catalogue_denied', denial);
    return Promise.resolve('denied');
  }

  allow(denial: Denial): Promise<'allowed' | 'unchanged'> {
    if (!this.#denials.delete(nameOf(denial))) return Promise.resolve('unchanged');
    this.catalogue.denied.delete(denial.value);
    this.#note('catalogue_allowed', denial);
    return Promise.resolve('allowed');
  }

  #note(action: string, denial: Denial): void {
    this.audit.push({ by: denial.by, action, subject: nameOf(denial), reason: denial.reason });
  }

  /** All entries, with the denied ones that the catalogue itself never shows. */
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
          id: position.id,
          chainId,
          payTo,
          host,
          listing,
          firstPaidAt,
          lastPaidAt,
          otherPayees,
          denials: this.#denialsOf([`host:${host}`, `payee:${payTo}`]),
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
