import type { Redis } from 'ioredis';
import type { Address, Hex } from 'viem';
import type { SettlementDetails } from '../core/settlement/settlement.js';
import { ledgerCall } from '../redis/redis-scripts.js';
import { detailsKey, settlementKey, tombstoneKey, transactionKey } from './keys.js';
import { readTombstone, type Snapshot } from './snapshot.js';

/** A settlement as the status endpoint shows it. */
export interface Story {
  readonly view: Omit<Snapshot, 'generation' | 'signedTag' | 'termsTag'>;
  /** Missing once the retention time is over. */
  readonly details: SettlementDetails | undefined;
}

type Fields = Readonly<Record<string, string | undefined>>;

/** Reads settlements for people and programs that look, and change nothing. */
export class StoryReader {
  constructor(private readonly redis: Redis) {}

  /** @throws LedgerUnavailableError */
  async read(id: string): Promise<Story | undefined> {
    const [live, tombstone, details] = await ledgerCall(
      'story',
      Promise.all([
        this.redis.hgetall(settlementKey(id)),
        this.redis.get(tombstoneKey(id)),
        this.redis.get(detailsKey(id)),
      ]),
    );
    if (live['st'] !== undefined) return liveStory(id, live);
    if (tombstone === null) return undefined;
    return {
      view: readTombstone(id, tombstone),
      details: details === null ? undefined : readDetails(JSON.parse(details) as Fields),
    };
  }

  /** The settlements a transaction carries or carried. */
  async idsOf(chainId: number, transaction: Hex): Promise<readonly string[]> {
    const text = await ledgerCall('idsOf', this.redis.get(transactionKey(chainId, transaction)));
    return text === null ? [] : text.split(',');
  }
}

function liveStory(id: string, fields: Fields): Story {
  const { st, sale, sa, sk, tx, hx, bn, li, bs, as } = fields;
  return {
    view: {
      id,
      state: st as Snapshot['state'],
      isPaid: st === 'included',
      sale: {
        state: (sale ?? 'open') as Snapshot['sale']['state'],
        asker: given(sa),
        isAskerAlive: true,
        keyTag: given(sk),
      },
      transaction: (given(tx) ?? given(hx?.split(',').at(-1))) as Hex | undefined,
      reason: undefined,
      blockNumber: bn ? BigInt(bn) : undefined,
      logIndex: li ? Number(li) : undefined,
      batchSize: bs ? Number(bs) : undefined,
      isAsync: as === '1',
    },
    details: readDetails(fields),
  };
}

/** The same short names in a live record and in the JSON of a finished one. */
function readDetails(fields: Fields): SettlementDetails {
  const { me, ch, tk, py, pt, am, nn, dl, hx, bh, t0, t1, t2, t4, t5 } = fields;
  return {
    method: me as SettlementDetails['method'],
    chainId: Number(ch),
    token: tk as Address,
    payer: py as Address,
    payTo: pt as Address,
    amount: BigInt(am ?? 0),
    authorizationNonce: BigInt(nn ?? 0),
    deadline: BigInt(dl ?? 0),
    hashes: hx ? (hx.split(',') as Hex[]) : [],
    blockHash: given(bh) as Hex | undefined,
    times: {
      arrived: readTime(t0),
      claimed: readTime(t1),
      allocated: readTime(t2),
      included: readTime(t4),
      finished: readTime(t5),
    },
  };
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function readTime(text: string | undefined): number | undefined {
  return text === undefined || text === '' ? undefined : Number(text);
}
