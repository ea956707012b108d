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

/** A settlement that is on its way: its record is whole. */
interface LiveSettlement {
  readonly isLive: true;
  readonly view: SettlementView;
  readonly details: SettlementDetails;
}

/** A settlement that has ended: what decides about it outlives the rest. */
export interface EndedSettlement {
  readonly isLive: false;
  readonly view: SettlementView;
  /** Missing once the retention time is over. */
  readonly details: SettlementDetails | undefined;
}

/** A settlement that the ledger does not hold any more, as it was when it was last archived. */
interface PastSettlement {
  readonly isLive: false;
  readonly isArchived: true;
  readonly view: SettlementView;
  readonly details: SettlementDetails | undefined;
}

/** All that is known of one claim. {@link SettlementStatus} is what anyone may see of it. */
export type Settlement = LiveSettlement | EndedSettlement | PastSettlement;

/** Payments of one chain that are final and were not sold within `UNCLAIMED_AFTER_MS`. */
export interface UnclaimedSettlements {
  readonly chainId: number;
  readonly count: number;
  /** Age of the oldest one, in milliseconds; 0 without any. */
  readonly oldestMs: number;
  /** Of the 5000 oldest. */
  readonly sums: readonly UnclaimedSum[];
}

/** In atomic units. */
interface UnclaimedSum {
  readonly asset: Address;
  readonly count: number;
  readonly amount: bigint;
}

const SCRIPTS = { byId: loadScript('record_and_details'), claimsOf: loadScript('claims_of') };

/** Records read in one turn: others are served in between. */
const READ_TOGETHER = 500;
/** Of unclaimed settlements the oldest are summed: many small payments to oneself push none of them out. */
const SUMMED_MOST = 5000;

/** The paid amount of a settlement, atomic units: it is final, so it is read once. */
interface Paid {
  readonly asset: Address;
  readonly amount: bigint;
}

/**
 * Everything that people and programs ask about settlements: of the ledger, and what it does not hold any
 * more of the archive. It changes nothing, and what one settlement shows was so at one moment.
 *
 * @throws RedisUnavailableError from every method; ArchiveUnavailableError where the ledger does not know
 *   a settlement and the archive cannot be asked.
 */
@Injectable()
export class SettlementQueries {
  /** By chain, of what is unclaimed now. */
  readonly #paid = new Map<number, ReadonlyMap<string, Paid | undefined>>();

  constructor(
    private readonly scripts: LedgerScripts,
    @Inject(SETTLEMENT_ARCHIVE) private readonly archive: SettlementArchive,
  ) {}

  async byId(chainId: number, id: string): Promise<Settlement | undefined> {
    const [settlement] = await this.#byIds(chainId, [id]);
    return settlement;
  }

  /** The claims of authorizations: those that were sold first, then live ones, then ended ones. */
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
    // The claim that counts leaves the ledger after the others of its authorization.
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

  /** Newest first; what was refused and is gone since is left out. */
  newest(chainId: number, most: number): Promise<readonly Settlement[]> {
    return this.#newestIn(keys.listKey(chainId, 'newest'), {
      by: 'time',
      chainId,
      payer: undefined,
      most,
    });
  }

  /** Likewise, of one payer. */
  newestOfPayer(chainId: number, payer: Address, most: number): Promise<readonly Settlement[]> {
    const query = { by: 'time', chainId, payer, most } as const;
    return this.#newestIn(keys.payerKey(chainId, payer), query);
  }

  /** How much is unclaimed. */
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

  /** Unclaimed settlements, newest first. */
  async newestUnclaimed(chainId: number, most: number): Promise<readonly Settlement[]> {
    const list = keys.listKey(chainId, 'unclaimed');
    const redis = this.scripts.ledger.of(chainId);
    const ids = await redisCall('unclaimed', redis.zrevrange(list, 0, most - 1));
    return this.#hot(chainId, ids);
  }

  /** By settlement id; `undefined` for those whose details are gone. */
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

  /** A list is no answer about any one of them: without the archive it is shorter. */
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

  /** Every one that is known, in this order. */
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

  /** @returns `undefined` while the archive is away. */
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
