import { createHash } from 'node:crypto';

/**
 * Every Redis key of the hub. Names from outside are in keys and lists as {@link keyPart} writes them: short and
 * unique. Keys that begin with `hub:i:` are the index: it can be lost, and is rebuilt from the storage's journal. It
 * grows and shrinks with the stored files. Only the entries of `hub:i:o:` hold the names themselves.
 *
 * | key | type | lifetime | holds |
 * |---|---|---|---|
 * | `hub:i:meta` | hash | always | `store` it is of, `generation` (with its format, versions kept and the id of the price seal), `last`: greatest order applied, `since` when it was made (Unix seconds) |
 * | `hub:i:total` | hash | always | `objects`: payloads that can be found; `bytes` of what was stored and is not freed; `buckets` that were created and not removed; `owners` who have any file |
 * | `hub:i:a` | zset | always | owners by their first entry |
 * | `hub:i:o:<owner>` | hash | always | entry of the newest payload by id: `<order>\|<JSON>` |
 * | `hub:i:ids:<owner>` | zset | always | ids by order |
 * | `hub:i:b:<owner>` | zset | always | buckets by their first entry |
 * | `hub:i:bm:<owner>:<bucket>` | zset | always | creations of the bucket since its last removal, `<order>\|<JSON>` by order; the first counts |
 * | `hub:i:bg:<owner>:<bucket>` | string | 2 hours | order of the last removal of the bucket |
 * | `hub:i:bi:<owner>:<bucket>` | zset | always | ids of a bucket by order |
 * | `hub:i:c:<owner>` | zset | always | conversations by their first entry |
 * | `hub:i:m:<owner>:<conversation>` | zset | always | ids of a conversation by their number |
 * | `hub:i:n:<id>` | zset | always | owners of an id by order |
 * | `hub:i:v:<owner>` | hash | always | end of the last payload by volume, bytes |
 * | `hub:i:p:<owner>` | hash | always | price by id: `<order>\|<MAC>\|<terms>`, no terms where it was taken away; see `price-seal.ts` |
 * | `hub:i:pg:<owner>:<id>` | string | 2 hours | order of the removal of a price whose file is gone |
 * | `hub:i:w:<owner>:<id>` | zset | always | older payloads of a name by order, as many as `HUB_VERSIONS` says: `<order>\|<JSON>` |
 * | `hub:i:k` | hash | always | for how many days an owner's files are kept, 0 for ever: `<order>\|<days>` |
 * | `hub:i:t` | hash | always | by SHA-256 the newest takedown or putting back of these bytes: `<order>\|<JSON>` |
 * | `hub:i:td` | zset | always | SHA-256 of what is taken down, by order |
 * | `hub:i:ta` | zset | always | every takedown and putting back, `<order>\|<JSON>` by order |
 * | `hub:i:u:<owner>` | hash | always | `bytes` and `count` of what was stored and is not freed |
 * | `hub:i:f:<owner>` | zset | always | payloads that were freed up to two hours before the last one, `<volume>:<start>` by order |
 * | `hub:i:d` | hash | always | counts by `<days since 1970>:<owners, buckets, objects, bytes or volumes>`: what came on that day (UTC) |
 * | `hub:i:recent` | zset | always | the newest 1000 payloads, `<owner>:<id>` by order |
 * | `hub:rebuild` | string | 10 seconds, renewed | the process that rebuilds the index |
 * | `hub:sweep` | string | 50 seconds | a process looks for files that are older than their owners want |
 * | `hub:compaction` | string | a minute | a process frees unreferenced bytes |
 * | `hub:nonce:<owner>:<nonce>` | string | until the signature expires | a strict signature that was used |
 * | `hub:links:spent:<owner>` | zset | until the last is over | nonces of share links that were used up or taken back, by when they are over |
 * | `hub:links:void:<owner>` | string | 30 days | links that were issued until then (Unix seconds) are taken back |
 * | `hub:uploads:used:<owner>` | zset | until the last is over | nonces of upload links that were used or taken back, by when they are over |
 * | `hub:uploads:void:<owner>` | string | 7 days | upload links that were issued until then (Unix seconds) are taken back |
 * | `hub:upload:<owner>:<nonce>` | hash | until the link is over | what an upload link was used for, see `src/hub/links/upload-store.ts` |
 * | `hub:sale:<authorization>` | string | until access ends, and the payment can no longer be presented | a sale as JSON, see `src/hub/sales/sale.ts` |
 * | `hub:sold:<payer>:<file>` | string | until access ends | authorization of the sale that a payer has of a file |
 *
 * One hub per Redis database: an index of another store counts as lost.
 */
export const INDEX_PREFIX = 'hub:i:';

const PLAIN = /^[\w.-]{1,43}$/;
const HASHED = '~';

/** A name in keys and lists: unchanged if it is short and plain, otherwise its hash. */
export function keyPart(name: string): string {
  if (PLAIN.test(name)) return name;
  return HASHED + createHash('sha256').update(name).digest('base64url');
}

/** The name of a part; `undefined` for a hash, whose name is in an entry. */
export function nameOfPart(part: string): string | undefined {
  return part.startsWith(HASHED) ? undefined : part;
}

/** An owner, a bucket, a conversation or an id, as {@link keyPart} writes it. */
export type Part = string;

export const metaKey = (): string => `${INDEX_PREFIX}meta`;
export const totalKey = (): string => `${INDEX_PREFIX}total`;
export const accountsKey = (): string => `${INDEX_PREFIX}a`;
export const objectsKey = (owner: Part): string => `${INDEX_PREFIX}o:${owner}`;
export const idsKey = (owner: Part): string => `${INDEX_PREFIX}ids:${owner}`;
export const bucketsKey = (owner: Part): string => `${INDEX_PREFIX}b:${owner}`;
export const madeBucketKey = (owner: Part, bucket: Part): string =>
  `${INDEX_PREFIX}bm:${owner}:${bucket}`;
export const bucketIdsKey = (owner: Part, bucket: Part): string =>
  `${INDEX_PREFIX}bi:${owner}:${bucket}`;
export const conversationsKey = (owner: Part): string => `${INDEX_PREFIX}c:${owner}`;
export const membersKey = (owner: Part, conversation: Part): string =>
  `${INDEX_PREFIX}m:${owner}:${conversation}`;
export const ownersOfIdKey = (id: Part): string => `${INDEX_PREFIX}n:${id}`;
export const volumesKey = (owner: Part): string => `${INDEX_PREFIX}v:${owner}`;
export const pricesKey = (owner: Part): string => `${INDEX_PREFIX}p:${owner}`;
export const versionsKey = (owner: Part, id: Part): string => `${INDEX_PREFIX}w:${owner}:${id}`;
export const retentionsKey = (): string => `${INDEX_PREFIX}k`;
export const takedownsKey = (): string => `${INDEX_PREFIX}t`;
export const takenDownKey = (): string => `${INDEX_PREFIX}td`;
export const takedownActsKey = (): string => `${INDEX_PREFIX}ta`;
export const usageKey = (owner: Part): string => `${INDEX_PREFIX}u:${owner}`;
export const daysKey = (): string => `${INDEX_PREFIX}d`;
export const recentKey = (): string => `${INDEX_PREFIX}recent`;
export const compactionKey = (): string => 'hub:compaction';
export const sweepKey = (): string => 'hub:sweep';
export const rebuildKey = (): string => 'hub:rebuild';
export const nonceKey = (owner: string, nonce: string): string => `hub:nonce:${owner}:${nonce}`;
export const spentLinksKey = (owner: string): string => `hub:links:spent:${owner}`;
export const voidedLinksKey = (owner: string): string => `hub:links:void:${owner}`;
export const uploadsKey = (owner: string): string => `hub:uploads:used:${owner}`;
export const voidedUploadsKey = (owner: string): string => `hub:uploads:void:${owner}`;
export const uploadKey = (owner: string, nonce: string): string => `hub:upload:${owner}:${nonce}`;
export const saleKey = (authorizationId: string): string => `hub:sale:${authorizationId}`;
export const currentSaleKey = (payer: string, fileTag: string): string =>
  `hub:sold:${payer}:${fileTag}`;
