import { Inject, Injectable } from '@nestjs/common';
import type { Address, Hex } from 'viem';
import { redisCall, type ScriptReply } from '../../../platform/redis/redis-scripts.js';
import { ArchiveUnavailableError } from '../../../protocol/errors.js';
import type { SettlementDetails, SettlementView } from '../../model/settlement.js';
import * as keys from '../keys.js';
import { LedgerScripts } from '../ledger-scripts.js';
import { encodeHash, parseDetails, readDetails, readRecord } from '../record.js';
import { asList, asPairs, asText } from '../reply.js';
import { loadScript } from '../script-files.js';
import {
  type ArchiveQuery,
  SETTLEMENT_ARCHIVE,
  type SettlementArchive,
} from '../settlement-archive.js';

/** An unfinished settlement, with its whole record. */
interface LiveSettlement {
  readonly isLive: true;
  readonly view: SettlementView;
  readonly details: SettlementDetails;
}

/** A finished settlement. Its decisive facts are stored longer than its details. */
export interface EndedSettlement {
  readonly isLive: false;
  readonly view: SettlementView;
  /** Missing after `RETENTION_DAYS`. */
  readonly details: SettlementDetails | undefined;
}

/** A settlement that has left the ledger, in its last archived state. */
interface PastSettlement {
  readonly isLive: false;
  readonly isArchived: true;
  readonly view: SettlementView;
  readonly details: SettlementDetails | undefined;
}

/** All known facts of one claim. {@link SettlementStatus} is the public part. */
export type Settlement = LiveSettlement | EndedSettlement | PastSettlement;

/** Payments of one chain that are final and were not sold within `UNCLAIMED_AFTER_MS`. */
export interface UnclaimedSettlements {
  readonly chainId: number;
  readonly count: number;
  /** Age of the oldest one, in milliseconds; 0 without any. */
  readonly oldestMs: number;
  /** Sums of the 5000 oldest. */
  readonly sums: readonly UnclaimedSum[];
}

/** Unclaimed amount of one asset, in atomic units. */
interface UnclaimedSum {
  readonly asset: Address;
  readonly count: number;
  readonly amount: bigint;
}

/** A position in the list of unclaimed settlements. */
export interface UnclaimedPlace {
  /** Time since when it has been final and unsold, ms by the clock of Redis. */
  readonly since: number;
  readonly id: string;
}

/** A query for unclaimed settlements; addresses in lower case, the amount in atomic units. */
export interface UnclaimedFilter {
  readonly payTo: Address | undefined;
  readonly payer: Address | undefined;
  readonly asset: Address | undefined;
  readonly leastAmount: bigint | undefined;
}

/** A part of the unclaimed settlements of one chain, newest first. */
export interface UnclaimedPart {
  readonly found: readonly { readonly place: UnclaimedPlace; readonly settlement: Settlement }[];
  /** The last searched position; `undefined` at the end of the list. */
  readonly stoppedAt: UnclaimedPlace | undefined;
}

/** The order of the list: within one millisecond the larger id first, as in Redis. */
export function newestPlaceFirst(a: UnclaimedPlace, b: UnclaimedPlace): number {
  return b.since - a.since || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}

const SCRIPTS = { byId: loadScript('record_and_details'), claimsOf: loadScript('claims_of') };

/** Records per read, so that Redis can serve other commands in between. */
const READ_TOGETHER = 500;
/** Only the oldest unclaimed settlements are summed, so that many small new payments cannot displace them. */
const SUMMED_MOST = 5000;
/** Unclaimed settlements that one query examines. */
const SEARCHED_MOST = 2000;
const SEARCHED_TOGETHER = 100;

/** The paid amount of a settlement in atomic units. It is final, so it is read once. */
interface Paid {
  readonly asset: Address;
  readonly amount: bigint;
}

/**
 * Queries about settlements, without side effects: in the ledger, and in the archive if the ledger does not know the
 * settlement. The facts of one settlement are from one moment.
 *
 * @throws RedisUnavailableError from every method; ArchiveUnavailableError if the ledger does not know a settlement
 *   and the archive does not answer.
 */
@Injectable()
export class SettlementQueries {
  /** By chain, for the present unclaimed settlements. */
  readonly #paid = new Map<number, ReadonlyMap<string, Paid | undefined>>();

  constructor(
    private readonly scripts: LedgerScripts,
    @Inject(SETTLEMENT_ARCHIVE) private readonly archive: SettlementArchive,
  ) {}

  async byId(chainId: number, id: string): Promise<Settlement | undefined> {
    const [settlement] = await this.#byIds(chainId, [id]);
    return settlement;
  }

  /** The claims of authorizations: sold ones first, then live ones, then finished ones. */
  async claimsOf(
    chainId: number,
    authorizationIds: readonly string[],
  ): Promise<readonly Settlement[]> {
    const indexes = authorizationIds.map((id) => keys.authorizationKey(chainId, id));
    const own = { script: SCRIPTS.claimsOf, keys: indexes, args: [] };
    const claims = asList(await this.scripts.runAgain(chainId, own)).flatMap((one) => {
      const [id, record, details] = asList(one);
      return readSettlement(asText(id), record, details) ?? [];
    });
    // The claim that counts leaves the ledger after the other claims of its authorization.
    if (claims.length > 0) return claims;
    return this.#pastOrFail({ by: 'authorization', chainId, authorizationIds });
  }

  /** The settlements that a transaction carries or carried. */
  async byTransaction(chainId: number, transaction: Hex): Promise<readonly Settlement[]> {
    const key = keys.transactionKey(chainId, encodeHash(transaction));
    const text = await redisCall('idsOf', this.scripts.ledger.of(chainId).get(key));
    if (text !== null) return this.#byIds(chainId, text.split(','));
    return this.#pastOrFail({ by: 'transaction', chainId, transaction });
  }

  /** Newest first, without refused settlements whose records were deleted. */
  newest(chainId: number, most: number): Promise<readonly Settlement[]> {
    return this.#newestIn(keys.listKey(chainId, 'newest'), {
      by: 'time',
      chainId,
      payer: undefined,
      most,
    });
  }

  /** The newest settlements of one payer. */
  newestOfPayer(chainId: number, payer: Address, most: number): Promise<readonly Settlement[]> {
    const query = { by: 'time', chainId, payer, most } as const;
    return this.#newestIn(keys.payerKey(chainId, payer), query);
  }

  /** Number and sums of unclaimed settlements. */
  async unclaimed(chainId: number): Promise<UnclaimedSettlements> {
    const redis = this.scripts.ledger.of(chainId);
    const list = keys.listKey(chainId, 'unclaimed');
    const [[seconds], count, flat] = await redisCall(
      'unclaimed',
      Promise.all([
        redis.time(),
        redis.zcard(list),
        redis.zrange(list, '0', String(SUMMED_MOST - 1), 'WITHSCORES'),
      ]),
    );
    const ids = flat.filter((_, index) => index % 2 === 0);
    const [, since] = flat;
    const known = this.#paid.get(chainId);
    const paid = new Map<string, Paid | undefined>();
    for (const id of ids) if (known?.has(id) === true) paid.set(id, known.get(id));
    const unknown = ids.filter((id) => !paid.has(id));
    for (let from = 0; from < unknown.length; from += READ_TOGETHER) {
      const read = await this.#paidBy(chainId, unknown.slice(from, from + READ_TOGETHER));
      for (const [id, one] of read) paid.set(id, one);
    }
    this.#paid.set(chainId, paid);
    const sums = new Map<Address, Omit<UnclaimedSum, 'asset'>>();
    for (const one of paid.values()) {
      if (one === undefined) continue;
      const sum = sums.get(one.asset) ?? { count: 0, amount: 0n };
      sums.set(one.asset, { count: sum.count + 1, amount: sum.amount + one.amount });
    }
    return {
      chainId,
      count,
      oldestMs: since === undefined ? 0 : Math.max(0, Number(seconds) * 1000 - Number(since)),
      sums: [...sums].map(([asset, sum]) => ({ asset, ...sum })),
    };
  }

  /**
   * Unclaimed settlements, newest first.
   *
   * @param after - the last position of the previous page.
   * @param most - maximum number of results; the search itself is bounded too, so a part may be shorter although it
   *   is not the last.
   */
  async newestUnclaimed(
    chainId: number,
    filter: UnclaimedFilter,
    after: UnclaimedPlace | undefined,
    most: number,
  ): Promise<UnclaimedPart> {
    const found: UnclaimedPart['found'][number][] = [];
    let stoppedAt = after;
    for (let searched = 0; searched < SEARCHED_MOST; searched += SEARCHED_TOGETHER) {
      const places = await this.#unclaimedAfter(chainId, stoppedAt);
      const settlements = await this.#hot(
        chainId,
        places.map(({ id }) => id),
      );
      const byId = new Map(settlements.map((one) => [one.view.id, one]));
      for (const place of places) {
        const settlement = byId.get(place.id);
        stoppedAt = place;
        if (settlement === undefined || !isAskedFor(settlement, filter)) continue;
        found.push({ place, settlement });
        if (found.length === most) return { found, stoppedAt };
      }
      if (places.length === 0) return { found, stoppedAt: undefined };
    }
    return { found, stoppedAt };
  }

  /** The next positions in the list, also if the settlement at `after` has left it meanwhile. */
  async #unclaimedAfter(
    chainId: number,
    after: UnclaimedPlace | undefined,
  ): Promise<readonly UnclaimedPlace[]> {
    const list = keys.listKey(chainId, 'unclaimed');
    const from = after === undefined ? '+inf' : String(after.since);
    for (let skipped = 0; ; skipped += SEARCHED_TOGETHER) {
      const flat = await redisCall(
        'unclaimed',
        this.scripts.ledger
          .of(chainId)
          .zrevrangebyscore(list, from, '-inf', 'WITHSCORES', 'LIMIT', skipped, SEARCHED_TOGETHER),
      );
      const places = flat.flatMap((id, index) =>
        index % 2 === 0 ? [{ id, since: Number(flat[index + 1]) }] : [],
      );
      const next = places.filter((one) => after === undefined || newestPlaceFirst(after, one) < 0);
      // All of these have the same millisecond, and were in the list before `after`.
      if (next.length > 0 || places.length < SEARCHED_TOGETHER) return next;
    }
  }

  /** By settlement id; `undefined` without details. */
  async #paidBy(
    chainId: number,
    ids: readonly string[],
  ): Promise<readonly (readonly [id: string, paid: Paid | undefined])[]> {
    const redis = this.scripts.ledger.of(chainId);
    const read = ids.map(async (id) => {
      const [kept, settled] = await Promise.all([
        redis.get(keys.detailsKey(chainId, id)),
        redis.hget(keys.recordKey(chainId, id), 'settled'),
      ]);
      if (kept === null) return [id, undefined] as const;
      const details = parseDetails(kept);
      const amount = BigInt(settled ?? details.get('amount') ?? 0);
      return [id, { asset: details.get('asset') as Address, amount }] as const;
    });
    return redisCall('unclaimed', Promise.all(read));
  }

  /** Without the archive the list is shorter, which is not a statement about any settlement. */
  async #newestIn(
    list: string,
    query: Extract<ArchiveQuery, { by: 'time' }>,
  ): Promise<readonly Settlement[]> {
    const { chainId, most } = query;
    const ids = await redisCall(
      'newest',
      this.scripts.ledger.of(chainId).zrevrange(list, 0, most - 1),
    );
    const hot = await this.#hot(chainId, ids);
    const known = new Set(hot.map(({ view }) => view.id));
    const past = known.size < most ? ((await this.#past(query)) ?? []) : [];
    return [...hot, ...past.filter(({ view }) => !known.has(view.id))]
      .sort((a, b) => claimedAt(b) - claimedAt(a))
      .slice(0, most);
  }

  /** All known settlements, in this order. */
  async #byIds(chainId: number, ids: readonly string[]): Promise<readonly Settlement[]> {
    const hot = await this.#hot(chainId, ids);
    const found = new Map(hot.map((one) => [one.view.id, one]));
    const missing = ids.filter((id) => !found.has(id));
    if (missing.length === 0) return hot;
    for (const one of await this.#pastOrFail({ by: 'id', chainId, ids: missing })) {
      found.set(one.view.id, one);
    }
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  async #hot(chainId: number, ids: readonly string[]): Promise<readonly Settlement[]> {
    const found = await Promise.all(
      ids.map(async (id) => {
        const own = { script: SCRIPTS.byId, keys: [keys.recordKey(chainId, id)], args: [] };
        const [record, details] = asList(await this.scripts.runAgain(chainId, own));
        return readSettlement(id, record, details);
      }),
    );
    return found.filter((one) => one !== undefined);
  }

  /** An unavailable archive is an error: it must not look like an unknown settlement. */
  async #pastOrFail(query: ArchiveQuery): Promise<readonly Settlement[]> {
    const past = await this.#past(query);
    if (past === undefined) throw new ArchiveUnavailableError(query.by);
    return past;
  }

  /** @returns `undefined` while the archive is unavailable. */
  async #past(query: ArchiveQuery): Promise<readonly PastSettlement[] | undefined> {
    const answer = await this.archive.find(query);
    if (answer.kind === 'away') return undefined;
    return answer.settlements.map(({ view, details }) => ({
      isLive: false,
      isArchived: true,
      view,
      details,
    }));
  }
}

function claimedAt({ details }: Settlement): number {
  return details?.times.claimed ?? 0;
}

function isAskedFor(
  { details, view }: Settlement,
  { payTo, payer, asset, leastAmount }: UnclaimedFilter,
): boolean {
  const amount = view.settledAmount ?? details?.amount;
  return (
    (payTo === undefined || details?.payTo === payTo) &&
    (payer === undefined || details?.payer === payer) &&
    (asset === undefined || details?.token === asset) &&
    (leastAmount === undefined || (amount !== undefined && amount >= leastAmount))
  );
}

function readSettlement(
  id: string,
  record: ScriptReply | undefined,
  details: ScriptReply | undefined,
): Settlement | undefined {
  const fields = asPairs(record);
  const view = readRecord(id, fields);
  if (view === undefined) return undefined;
  // Only a live record still holds the payment.
  if (fields.has('payment')) return { isLive: true, view, details: readDetails(fields, fields) };
  const kept = asText(details);
  return {
    isLive: false,
    view,
    details: kept === '' ? undefined : readDetails(parseDetails(kept), fields),
  };
}
