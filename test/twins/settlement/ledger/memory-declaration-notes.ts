import {
  type DeclarationNotes,
  NOTED_CHARACTERS_MAX,
  NOTED_CLAIMS_MAX,
  type NotedClaim,
  type NotedContent,
} from '../../../../src/settlement/ledger/declaration-notes.js';
import type { ClaimRef } from '../../../../src/settlement/ledger/settlement-store.js';

interface Noted extends NotedClaim {
  readonly chainId: number;
  readonly content: string;
}

/** {@link DeclarationNotes} in memory. */
export class MemoryDeclarationNotes implements DeclarationNotes {
  #notes: readonly Noted[] = [];
  #count = 0;

  constructor(
    private readonly most = { claims: NOTED_CLAIMS_MAX, characters: NOTED_CHARACTERS_MAX },
    private readonly now: () => number = Date.now,
  ) {}

  note({ chainId, id }: ClaimRef, { tag, content }: NotedContent): Promise<boolean> {
    const { claims, characters } = this.most;
    const notes = this.#of(chainId);
    const held = new Map(notes.map((one) => [one.tag, one.content.length]));
    const size = [...held.values()].reduce((sum, one) => sum + one, 0);
    const isNew = !held.has(tag);
    if (notes.length >= claims || (isNew && size + content.length > characters)) {
      return Promise.resolve(false);
    }
    this.#count += 1;
    const entry = `${this.now()}-${this.#count}`;
    this.#notes = [...this.#notes, { chainId, entry, settlementId: id, tag, content }];
    return Promise.resolve(true);
  }

  read(chainId: number, after: string | undefined, most: number): Promise<readonly NotedClaim[]> {
    const notes = this.#of(chainId);
    const from = after === undefined ? 0 : notes.findIndex(({ entry }) => isLater(entry, after));
    const found = from < 0 ? [] : notes.slice(from, from + most);
    return Promise.resolve(
      found.map(({ entry, settlementId, tag }) => ({ entry, settlementId, tag })),
    );
  }

  contents(chainId: number, tags: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const known = new Map(this.#of(chainId).map(({ tag, content }) => [tag, content]));
    return Promise.resolve(new Map([...known].filter(([tag]) => tags.includes(tag))));
  }

  forget(chainId: number, claims: readonly NotedClaim[]): Promise<void> {
    const gone = new Set(claims.map(({ entry }) => entry));
    this.#notes = this.#notes.filter((one) => one.chainId !== chainId || !gone.has(one.entry));
    return Promise.resolve();
  }

  #of(chainId: number): readonly Noted[] {
    return this.#notes.filter((one) => one.chainId === chainId);
  }
}

/** Entries are a time and a count. */
function isLater(entry: string, than: string): boolean {
  const [at = 0, count = 0] = entry.split('-').map(Number);
  const [thanAt = 0, thanCount = 0] = than.split('-').map(Number);
  return at > thanAt || (at === thanAt && count > thanCount);
}
