/**
 * Every Redis key this service writes, by the builder that names it. All live in one database of one
 * primary; the Lua scripts build the same names from the same prefix.
 *
 * The wallet's keys begin with `x402:wl:` and are listed in `src/wallet/wallet-keys.ts`.
 *
 * | key | type | lifetime | holds |
 * |---|---|---|---|
 * | `x402:s:<id>` | hash | until the settlement is finished | a live settlement |
 * | `x402:t:<id>` | string | `TOMBSTONE_DAYS` | a finished settlement, compact (see `tombstone.ts`) |
 * | `x402:d:<id>` | string | `RETENTION_DAYS` | its details, JSON |
 * | `x402:w:<id>` | zset | 5 minutes after the last asker came | who waits for it, by arrival |
 * | `x402:r:<id>` | string | 1 minute | why the claim of that generation was refused |
 * | `x402:k:<tag>` | string | `RETENTION_DAYS` | the settlement an idempotency key is bound to |
 * | `x402:f:<chain>:<token>:<payer>` | hash | while something is in flight | amounts in flight by id |
 * | `x402:x:<chain>:<hash>` | string | `RETENTION_DAYS` | ids carried by a transaction |
 * | `x402:e:<chain>:<hash>:<log>` | string | `TOMBSTONE_DAYS` | the settlement a log of a foreign transaction was credited to |
 * | `x402:c:<chain>:live` | zset | always | unfinished settlements by claim time |
 * | `x402:c:<chain>:queued` | zset | always | of these the queued ones |
 * | `x402:c:<chain>:pending` | zset | always | claimed, their job not picked up yet |
 * | `x402:c:<chain>:payees` | zset | always | payees with ready work, by turn |
 * | `x402:c:<chain>:ready:<payTo>` | zset | while not empty | ready settlements by deadline |
 * | `x402:c:<chain>:load` | hash | always | queued settlements by payee |
 * | `x402:c:<chain>:newest` | zset | always | the 500 settlements claimed last, by claim time |
 * | `x402:y:<chain>:<payer>` | zset | `RETENTION_DAYS` | the 50 of a payer claimed last, likewise |
 * | `x402:l:<lane>` | hash | always | a lane: `next`, the next account nonce |
 * | `x402:l:<lane>:lease` | string | `LANE_LEASE_MS` | `<process>:<epoch>` of its writer |
 * | `x402:l:<lane>:work` | zset | while not empty | settlements its writer has taken |
 * | `x402:l:<lane>:charges` | hash | while not empty | what attempts in flight were charged to gas budgets |
 * | `x402:l:<lane>:attempts` | hash | while not empty | attempts in flight by account nonce |
 * | `x402:paused` | hash | always | lanes an operator has paused: JSON, since when and by whose key |
 * | `x402:lanes` | hash | always | what each lane last said of itself, `<time>|<JSON>` |
 * | `x402:p:<process>` | string | 5 seconds | a living process |
 * | `x402:processes` | hash | always | what each process last reported, JSON |
 * | `x402:v:<chain>:<payer>` | string | 10 minutes | reverts of a payer after a clean simulation |
 * | `x402:g:<chain>:<subject>:<day>` | string | 2 days | gas money spent, gwei |
 * | `x402:q:<bucket>:<caller>` | string | 1 second | when the requests of a caller will have been worked off, µs |
 *
 * A lane is written `<chainId>:<signer>`.
 */
export const KEY_PREFIX = 'x402:';

export const settlementKey = (id: string): string => `${KEY_PREFIX}s:${id}`;
export const tombstoneKey = (id: string): string => `${KEY_PREFIX}t:${id}`;
export const detailsKey = (id: string): string => `${KEY_PREFIX}d:${id}`;
export const transactionKey = (chainId: number, hash: string): string =>
  `${KEY_PREFIX}x:${chainId}:${hash}`;
export const creditKey = (chainId: number, hash: string, logIndex: number): string =>
  `${KEY_PREFIX}e:${chainId}:${hash}:${logIndex}`;
export const revertsKey = (chainId: number, payer: string): string =>
  `${KEY_PREFIX}v:${chainId}:${payer}`;
export const liveKey = (chainId: number): string => `${KEY_PREFIX}c:${chainId}:live`;
export const queuedKey = (chainId: number): string => `${KEY_PREFIX}c:${chainId}:queued`;
export const laneKey = (lane: string): string => `${KEY_PREFIX}l:${lane}`;
export const laneLeaseKey = (lane: string): string => `${laneKey(lane)}:lease`;
export const laneAttemptsKey = (lane: string): string => `${laneKey(lane)}:attempts`;
export const pausedLanesKey = (): string => `${KEY_PREFIX}paused`;
export const chainKey = (chainId: number, what: 'live' | 'queued' | 'newest'): string =>
  `${KEY_PREFIX}c:${chainId}:${what}`;
export const payerKey = (chainId: number, payer: string): string =>
  `${KEY_PREFIX}y:${chainId}:${payer}`;
export const processKey = (process: string): string => `${KEY_PREFIX}p:${process}`;
export const processesKey = (): string => `${KEY_PREFIX}processes`;
/** @param caller - `key:<id>` of an API key, or `ip:<address>`. */
export const rateKey = (bucket: string, caller: string): string =>
  `${KEY_PREFIX}q:${bucket}:${caller}`;
/** Pub/sub: news for the askers of one process. */
export const processChannel = (process: string): string => `${KEY_PREFIX}news:${process}`;
/** Pub/sub: work is ready on a chain. */
export const workChannel = (chainId: number): string => `${KEY_PREFIX}work:${chainId}`;
