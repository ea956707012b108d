import { z } from 'zod';
import type { JournalEntry, StoredObject, Takedown } from '../storage/storage-provider.js';
import { membershipOf } from './conversation.js';
import { keyPart } from './keys.js';
import type { PriceSeal } from './price-seal.js';

/** The script arguments of an entry; see `index-scripts.ts`. */
export function entryArguments(entry: JournalEntry, seal: PriceSeal): string[] {
  const { order, owner, id } = entry;
  const op = entry.op === 'price' && entry.withdraws !== undefined ? 'withdraw' : entry.op;
  return [op, String(order), keyPart(owner), keyPart(id), textOf(entry, seal)];
}

function textOf(entry: JournalEntry, seal: PriceSeal): string {
  switch (entry.op) {
    case 'put':
      return indexTextOf(entry);
    case 'price':
      return entry.withdraws === undefined
        ? seal.rowOf(entry)
        : `${entry.withdraws}|${seal.rowOf(entry)}`;
    case 'remove':
      return entry.upTo === undefined ? '' : String(entry.upTo);
    case 'freed':
      return JSON.stringify(entry.payloads);
    case 'retention':
      return String(entry.days);
    case 'takedown':
      return takedownTextOf(entry);
    case 'bucket': {
      const { bucket, kind, state } = entry;
      return JSON.stringify({ bucket, kind, state, kb: keyPart(bucket) });
    }
  }
}

/** The index entry of a payload; `kb` and `kc` are the bucket and the conversation in keys. */
function indexTextOf(object: StoredObject): string {
  const { owner, id, bucket, kind, contentType, volume, start, size, sha256, blocks } = object;
  const membership = membershipOf(id);
  return JSON.stringify({
    owner,
    id,
    bucket,
    kind,
    contentType,
    volume,
    start,
    size,
    sha256,
    blocks,
    kb: keyPart(bucket),
    ...(membership !== undefined && {
      kc: keyPart(membership.conversation),
      number: membership.number,
    }),
  });
}

const Kept = z.object({
  owner: z.string(),
  id: z.string(),
  bucket: z.string(),
  kind: z.string(),
  contentType: z.string().optional(),
  volume: z.number(),
  start: z.number(),
  size: z.number(),
  sha256: z.string(),
  blocks: z.string(),
});

/** @param text - `<order>|<JSON>`. @throws when this service did not write it. */
export function objectOf(text: string): StoredObject {
  const at = text.indexOf('|');
  const kept = Kept.parse(JSON.parse(text.slice(at + 1)));
  return { op: 'put', order: Number(text.slice(0, at)), ...kept };
}

const KeptBucket = z.object({ bucket: z.string(), kind: z.string() });

/** A bucket that its owner created. */
type MadeBucket = z.infer<typeof KeptBucket>;

/** @param text - `<order>|<JSON>`. @throws when this service did not write it. */
export function madeBucketOf(text: string): MadeBucket {
  return KeptBucket.parse(JSON.parse(text.slice(text.indexOf('|') + 1)));
}

function takedownTextOf({ owner, id, sha256, state, reason, by }: Takedown): string {
  return JSON.stringify({ owner, id, sha256, state, reason, by });
}

const KeptTakedown = z.object({
  owner: z.string(),
  id: z.string(),
  sha256: z.string(),
  state: z.enum(['down', 'up']),
  reason: z.string(),
  by: z.string(),
});

/** @param text - `<order>|<JSON>`. @throws when this service did not write it. */
export function takedownOf(text: string): Takedown {
  const at = text.indexOf('|');
  const kept = KeptTakedown.parse(JSON.parse(text.slice(at + 1)));
  return { op: 'takedown', order: Number(text.slice(0, at)), ...kept };
}
