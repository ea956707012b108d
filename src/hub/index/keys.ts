/**
 * Every Redis key of the hub. Names from outside are percent-encoded where they are part of a key, so that
 * no two of them meet. What begins with `hub:i:` is the index: it can be lost, and is made anew from the
 * storage's journal; all of it grows with what is stored and is removed with it.
 *
 * | key | type | lifetime | holds |
 * |---|---|---|---|
 * | `hub:i:meta` | hash | always | `store` it is of, `generation` (with its format), `last`: greatest order applied |
 * | `hub:i:a` | zset | always | owners by their first entry |
 * | `hub:i:o:<owner>` | hash | always | entry of the newest payload by id: `<order>\|<JSON>` |
 * | `hub:i:ids:<owner>` | zset | always | ids by order |
 * | `hub:i:b:<owner>` | zset | always | buckets by their first entry |
 * | `hub:i:bi:<owner>:<bucket>` | zset | always | ids of a bucket by order |
 * | `hub:i:c:<owner>` | zset | always | conversations by their first entry |
 * | `hub:i:m:<owner>:<conversation>` | zset | always | ids of a conversation by their number |
 * | `hub:i:n:<id>` | zset | always | owners of an id by order |
 * | `hub:i:v:<owner>` | hash | always | end of the last payload by volume, bytes |
 * | `hub:i:u:<owner>` | hash | always | `bytes` and `count` ever stored |
 * | `hub:i:recent` | zset | always | the newest 1000 payloads, `<owner>:<id>` by order |
 * | `hub:rebuild` | string | 10 seconds, renewed | the process that makes the index anew |
 * | `hub:nonce:<owner>:<nonce>` | string | until the signature expires | a strict signature that was used |
 * | `hub:rate:<subject>` | string | seconds | when a subject's rate is free again |
 *
 * One hub per Redis database: an index of another store is taken for a lost one.
 */
export const INDEX_PREFIX = 'hub:i:';

export const keyPart = (name: string): string => encodeURIComponent(name);

export const metaKey = (): string => `${INDEX_PREFIX}meta`;
export const accountsKey = (): string => `${INDEX_PREFIX}a`;
export const objectsKey = (owner: string): string => `${INDEX_PREFIX}o:${keyPart(owner)}`;
export const idsKey = (owner: string): string => `${INDEX_PREFIX}ids:${keyPart(owner)}`;
export const bucketsKey = (owner: string): string => `${INDEX_PREFIX}b:${keyPart(owner)}`;
export const bucketIdsKey = (owner: string, bucket: string): string =>
  `${INDEX_PREFIX}bi:${keyPart(owner)}:${keyPart(bucket)}`;
export const conversationsKey = (owner: string): string => `${INDEX_PREFIX}c:${keyPart(owner)}`;
export const membersKey = (owner: string, conversation: string): string =>
  `${INDEX_PREFIX}m:${keyPart(owner)}:${keyPart(conversation)}`;
export const ownersOfIdKey = (id: string): string => `${INDEX_PREFIX}n:${keyPart(id)}`;
export const volumesKey = (owner: string): string => `${INDEX_PREFIX}v:${keyPart(owner)}`;
export const usageKey = (owner: string): string => `${INDEX_PREFIX}u:${keyPart(owner)}`;
export const recentKey = (): string => `${INDEX_PREFIX}recent`;
export const rebuildKey = (): string => 'hub:rebuild';
export const nonceKey = (owner: string, nonce: string): string => `hub:nonce:${owner}:${nonce}`;
export const rateKey = (subject: string): string => `hub:rate:${keyPart(subject)}`;
