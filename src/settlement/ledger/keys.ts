import { DEPLOYMENT_TAG, ledgerTag } from '../../platform/redis/hash-slot.js';

/**
 * Every Redis key of the ledger, by the builder that names it. What belongs to a chain has the hash tag
 * `{<chainId>:0}`, so that a script finds all it touches in one slot of a Redis Cluster. The
 * scripts build names only from the prefix of the first key they are given.
 *
 * The wallet's keys begin with `x402:wl:` and are listed in `src/wallet/wallet-keys.ts`, the hub's with
 * `hub:`.
 *
 * Keys of a chain, after `x402:{56:0}:`, with an example each:
 *
 * | key | type | lifetime | holds |
 * |---|---|---|---|
 * | `format` `x402:{56:0}:format` | string | always | the version of all this, `2` |
 * | `epoch` `x402:{56:0}:epoch` | hash | always | `run` (of the Redis server), `id`, `at` (ms), `back`: see `epoch.ts`; `returned`, once something of before was stored again |
 * | `speakers` | hash | always | processes that answer requesters, and when each showed itself, ms |
 * | `awaited` | set | 20 s at most after the ledger went back | those of them that have not replayed their acknowledged answers yet |
 * | `s:<id>` `x402:{56:0}:s:q3J…` | hash | live; then `TOMBSTONE_DAYS`, minutes without an attempt | the record of a claim: see `record.ts` |
 * | `d:<id>` | string | `RETENTION_DAYS` | its details, JSON |
 * | `w:<id>` | zset | live; then 5 minutes after the last one came | its requesters by their last heartbeat, ms |
 * | `a:<authorization id>` | hash | as its records | claims of an authorization: `live`, `sold`, `last` |
 * | `t:<authorization id>` | string | `TOMBSTONE_DAYS` | the requester with the sale where the ledger lost the claim, `<requester>|<key tag>` |
 * | `f:<token>:<payer>` `…:f:0xa1…:0xb2…` | hash | while something is in flight | amounts in flight by authorization |
 * | `o:<payer>` `…:o:0xb2…` | string | while it is in flight | the authorization whose payer's own transaction comes first: one at a time |
 * | `funded` | hash | always | payers that were sent native coins: `<nonce of the transaction they are for>:sent` or `:done` |
 * | `v:<payer>`, `v:<authorizer>`, `v:<authorizer>:<payer>`, `v:payout:<token>` | string | 10 minutes | reverts of a payer after a clean simulation (of what no payer has signed: see `ClaimRules.blamedFor`), approvals of it that came to nothing, and coins that it wasted |
 * | `b:<payer>` | string | 1 hour | how long it had places that came to nothing, while its own transaction was awaited, ms |
 * | `b:<authorization id>` | string | 1 hour | a minute, likewise: this signed payment has no place again |
 * | `x:<hash>` `…:x:0x5f…` | string | `RETENTION_DAYS` | ids carried by a transaction |
 * | `c:<hash>:<log>` | string | `TOMBSTONE_DAYS` | the settlement a log was credited to that a search may find for another one too |
 * | `live` | zset | always | unfinished settlements by claim time |
 * | `queued`, `sponsored` | zset | always | of these the queued ones by the time they came: without and with an approval that the operator pays for |
 * | `deadlines` | zset | always | all of those by deadline |
 * | `pending` | zset | always | claimed, their job not picked up yet |
 * | `later`, `parked` | zset | while not empty | those that wait for a time, by that time |
 * | `unsold` | zset | while not empty | final payments without a sale, by the time since when, ms |
 * | `unclaimed` | zset | while not empty | those that have been so for `UNCLAIMED_AFTER_MS`, as long as their records and details are kept |
 * | `payees` | zset | while not empty | accounts that ready work counts for, by turn |
 * | `turn` | string | always | the newest turn |
 * | `ready:<account>` `…:ready:0xc3…` | zset | while not empty | ready settlements by deadline |
 * | `own:payees`, `own:ready:<asset>` | zset | while not empty | likewise those that wait for a place to be prepared: assets by turn, settlements by the time they were claimed, ms |
 * | `load` | hash | always | queued settlements by account, those with an approval as `own:<asset>` |
 * | `newest` | zset | always | the 500 settlements claimed last, by claim time |
 * | `y:<payer>` | zset | `RETENTION_DAYS` | the 50 of a payer claimed last, likewise |
 * | `lanes` | set | always | signers that ever had an attempt, or were refilled |
 * | `paused`, `retiring` | hash | always | lanes an operator has paused, or retires: JSON, since when and by whose key |
 * | `l:<signer>` | hash | always | a lane: `next`, the next account nonce; `writer`, the process that has it, and `renewed`, when that last renewed its lease, ms; of a treasury also `refill`, its last one, JSON |
 * | `l:<signer>:lease` | string | `LANE_LEASE_MS` | `<processId>:<acquired at>` of its writer |
 * | `l:<signer>:work` | zset | while not empty | settlements its writer has taken |
 * | `l:<signer>:payees`, `l:<signer>:ready:<account>`, `l:<signer>:own:…` | zset | while not empty | the same of ready work that only this signer may send |
 * | `l:<signer>:attempts` | hash | while not empty | attempts in flight by account nonce |
 * | `l:<signer>:charges` | hash | while not empty | what those were charged to gas budgets |
 * | `l:<signer>:refills` | hash | 5000 nonces of a treasury | hashes of its final refills by account nonce: history asks for them |
 * | `outbox` `x402:{56:0}:outbox` | stream | with a history: always | ids of settlements that have changed and are not archived yet: see `outbox.ts` |
 * | `cooling` | zset | with a history: `HOT_MINUTES` | finished settlements that have not left yet, by their last change, ms |
 * | `audit` `x402:{56:0}:audit` | stream | with a history: always | the 10 000 newest actions of operators: see `audit-entry.ts` |
 * | `declared` `x402:{56:0}:declared` | stream | with a catalogue: until it is known whether the claim was paid, a day at most | claims that came with a declaration: see `declaration-notes.ts` |
 * | `declared:texts`, `declared:uses` | hash | likewise | what was declared by the hash of it; how many claims name it, and the size of all |
 * | `archiver` | string | seconds | the process that archives them |
 * | `g:<subject>:<day>` `…:g:lane:0xd4…:2026-11-21` | string | 2 days | gas fees spent, gwei |
 *
 * Keys of the deployment:
 *
 * | key | type | lifetime | holds |
 * |---|---|---|---|
 * | `x402:{k:<tag>}` | string | `RETENTION_DAYS` | the payment an idempotency key is bound to: see `binding.ts` |
 * | `x402:{p:<tag>}` | zset | `RETENTION_DAYS` | the 16 newest claims under a label, `<chainId>:<id>` by time, µs |
 * | `x402:{deployment}:lanes` | hash | always | what each lane last said of itself, `<time>|<JSON>` |
 * | `x402:{deployment}:processes` | hash | always | what each process last reported, likewise |
 * | `x402:{deployment}:settles:<hour>` | hash | 25 hours | how settles were answered in that hour since 1970: `success`, `pending`, `<reason>`, `<reason>|<id of the API key>` |
 * | `x402:q:<bucket>:<caller>` | string | 1 second | when the requests of a caller will have been worked off, µs |
 */
export const FORMAT = '2';

const PREFIX = 'x402:';

const ledgerKey = (chainId: number, rest: string): string =>
  `${PREFIX}{${ledgerTag(chainId)}}:${rest}`;

export const epochKey = (chainId: number): string => ledgerKey(chainId, 'epoch');
/** Processes that answer requesters, and the processes for which a ledger waits after it went back. */
export const speakersKeys = (chainId: number): readonly [speakers: string, awaited: string] => [
  ledgerKey(chainId, 'speakers'),
  ledgerKey(chainId, 'awaited'),
];
export const formatKey = (chainId: number): string => ledgerKey(chainId, 'format');
export const recordKey = (chainId: number, id: string): string => ledgerKey(chainId, `s:${id}`);
export const recordKeys = (chainId: number, ids: readonly string[]): string[] =>
  ids.map((id) => recordKey(chainId, id));
export const detailsKey = (chainId: number, id: string): string => ledgerKey(chainId, `d:${id}`);
export const authorizationKey = (chainId: number, authorizationId: string): string =>
  ledgerKey(chainId, `a:${authorizationId}`);
export const lostSaleKey = (chainId: number, authorizationId: string): string =>
  ledgerKey(chainId, `t:${authorizationId}`);
export const inFlightKey = (chainId: number, token: string, payer: string): string =>
  ledgerKey(chainId, `f:${token}:${payer}`);
export const transactionKey = (chainId: number, hash: string): string =>
  ledgerKey(chainId, `x:${hash}`);
export const creditKey = (chainId: number, hash: string, logIndex: number): string =>
  ledgerKey(chainId, `c:${hash}:${logIndex}`);
export const revertsKey = (chainId: number, blamed: string): string =>
  ledgerKey(chainId, `v:${blamed}`);
export const listKey = (
  chainId: number,
  list:
    | 'live'
    | 'queued'
    | 'deadlines'
    | 'pending'
    | 'later'
    | 'parked'
    | 'unclaimed'
    | 'newest'
    | 'cooling'
    | 'lanes'
    | 'paused'
    | 'retiring'
    | 'funded',
): string => ledgerKey(chainId, list);
export const outboxKey = (chainId: number): string => ledgerKey(chainId, 'outbox');
/** Notes of declarations, their contents, and the number of notes for each content. */
export const declarationKeys = (chainId: number): readonly string[] => [
  ledgerKey(chainId, 'declared'),
  ledgerKey(chainId, 'declared:texts'),
  ledgerKey(chainId, 'declared:uses'),
];
export const auditKey = (chainId: number): string => ledgerKey(chainId, 'audit');
export const archiverKey = (chainId: number): string => ledgerKey(chainId, 'archiver');
export const payerKey = (chainId: number, payer: string): string =>
  ledgerKey(chainId, `y:${payer}`);
/** @param lane - `<chainId>:<signer>` */
export const laneKey = (chainId: number, lane: string): string =>
  ledgerKey(chainId, `l:${signerOf(lane)}`);
export const laneLeaseKey = (chainId: number, lane: string): string =>
  `${laneKey(chainId, lane)}:lease`;
export const laneAttemptsKey = (chainId: number, lane: string): string =>
  `${laneKey(chainId, lane)}:attempts`;
/** The gas fees that a lane has paid on a day, gwei. @param day - `2026-11-21`, UTC. */
export const laneSpentKey = (chainId: number, lane: string, day: string): string =>
  ledgerKey(chainId, `g:lane:${signerOf(lane)}:${day}`);
export const laneRefillsKey = (chainId: number, lane: string): string =>
  `${laneKey(chainId, lane)}:refills`;
export const signerOf = (lane: string): string => lane.slice(lane.indexOf(':') + 1);

export const idempotencyKey = (tag: string): string => `${PREFIX}{k:${tag}}`;
export const labelKey = (tag: string): string => `${PREFIX}{p:${tag}}`;
export const laneStatusesKey = (): string => `${PREFIX}{${DEPLOYMENT_TAG}}:lanes`;
export const settlesKey = (hour: number): string => `${PREFIX}{${DEPLOYMENT_TAG}}:settles:${hour}`;
export const processesKey = (): string => `${PREFIX}{${DEPLOYMENT_TAG}}:processes`;

/** Pub/sub channel: events for the requesters of one process. */
export const processChannel = (processId: string): string => `${PREFIX}news:${processId}`;
/** Pub/sub channel: work is ready on a chain. */
export const workChannel = (chainId: number): string => `${PREFIX}work:${chainId}`;

/** Keys that exist only in a ledger of the first version. */
export const KEYS_OF_VERSION_1 = [`${PREFIX}lanes`, `${PREFIX}processes`] as const;
