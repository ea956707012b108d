import { hashOf } from '../../protocol/payment/hash.js';

/** How far each source was read, in their order; `undefined` once it has no more. */
export type SourceOffsets = readonly (number | undefined)[];

/** Entries of one source that a list goes through: who wants more asks there. */
export const OFFSET_MAX = 1000;

/** Cursors go on where the same sources were asked before; of others they are none. */
export class SourceCursors {
  readonly #tag: string;

  constructor(
    private readonly sources: readonly { readonly name: string; readonly url: string }[],
  ) {
    this.#tag = hashOf(sources.flatMap(({ name, url }) => [name, url])).slice(0, 12);
  }

  get beginning(): SourceOffsets {
    return this.sources.map(() => 0);
  }

  write(offsets: SourceOffsets): string {
    return [this.#tag, ...offsets.map((offset) => offset ?? '-')].join('.');
  }

  /** @returns `undefined` for what {@link write} has not written. */
  read(text: string): SourceOffsets | undefined {
    const [tag, ...parts] = text.split('.', this.sources.length + 2);
    if (tag !== this.#tag || parts.length !== this.sources.length) return undefined;
    if (!parts.every((part) => part === '-' || /^(0|[1-9]\d{0,3})$/.test(part))) return undefined;
    const offsets = parts.map((part) => (part === '-' ? undefined : Number(part)));
    return offsets.some((offset) => (offset ?? 0) > OFFSET_MAX) ? undefined : offsets;
  }
}
