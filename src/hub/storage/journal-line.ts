import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { CRC_DIGITS, crcText } from './payload-digest.js';
import type { JournalEntry } from './storage-provider.js';

/**
 * An entry of the journal as a line of text: 8 hex digits of the CRC-32 of the rest, a space, and the
 * entry as JSON with its format version in `v`. Readable with a pager, and whatever was torn or damaged
 * shows.
 */
const FORMAT = 1;

const count = z.number().int().nonnegative();
const common = { order: count, owner: z.string(), id: z.string() };
const Version = z.object({ v: z.literal(FORMAT) });
const Entry = z.discriminatedUnion('op', [
  z.object({
    ...common,
    op: z.literal('put'),
    bucket: z.string(),
    kind: z.string(),
    contentType: z.string().optional(),
    volume: count,
    start: count,
    size: count,
    sha256: z.string(),
    blocks: z.string(),
  }),
  z.object({ ...common, op: z.literal('remove'), upTo: count.optional() }),
  z.object({ ...common, op: z.literal('retention'), days: count }),
  z.object({
    ...common,
    op: z.literal('bucket'),
    bucket: z.string(),
    kind: z.string(),
    state: z.enum(['made', 'gone']),
  }),
  z.object({
    ...common,
    op: z.literal('price'),
    terms: z.string(),
    withdraws: z.string().optional(),
  }),
  z.object({
    ...common,
    op: z.literal('freed'),
    payloads: z.array(z.object({ volume: count, start: count, size: count })),
  }),
  z.object({
    ...common,
    op: z.literal('takedown'),
    sha256: z.string(),
    state: z.enum(['down', 'up']),
    reason: z.string(),
    by: z.string(),
  }),
]);

/** With the line's end. */
export function lineOf(entry: JournalEntry): string {
  const json = JSON.stringify({ v: FORMAT, ...entry });
  return `${crcText(crc32(json))} ${json}\n`;
}

/** @param line - without its end. @returns `undefined` for what is not a whole, sound line. */
export function entryOf(line: string): JournalEntry | undefined {
  const json = line.slice(CRC_DIGITS + 1);
  if (json === '' || line.slice(0, CRC_DIGITS) !== crcText(crc32(json))) return undefined;
  const value: unknown = JSON.parse(json);
  if (!Version.safeParse(value).success) return undefined;
  const parsed = Entry.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}
