import { afterAll, describe, expect, it } from '@jest/globals';
import { Secret } from '../../../src/platform/config/secret.js';
import { LedgerConnections } from '../../../src/platform/redis/ledger-connections.js';
import { AuditTrail } from '../../../src/settlement/ledger/audit-trail.js';
import { AWAITED_MS } from '../../../src/settlement/ledger/epoch.js';
import {
  authorizationKey,
  detailsKey,
  epochKey,
  inFlightKey,
  listKey,
  payerKey,
  recordKey,
  speakersKeys,
} from '../../../src/settlement/ledger/keys.js';
import {
  SettlementQueries,
  type UnclaimedFilter,
  type UnclaimedPlace,
} from '../../../src/settlement/ledger/queries/settlement-queries.js';
import { UnclaimedList } from '../../../src/settlement/ledger/queries/unclaimed-list.js';
import { NO_ARCHIVE } from '../../../src/settlement/ledger/settlement-archive.js';
import { type ClaimRef, RESTATE_MS } from '../../../src/settlement/ledger/settlement-store.js';
import {
  aPayment,
  aRequester,
  CHAIN_ID,
  CONTRACT_UNCLAIMED_MS,
  describeSettlementStore,
} from '../../twins/settlement/ledger/settlement-store-contract.js';
import { LedgerWorld, LIMITS } from './ledger-world.js';

let world: LedgerWorld | undefined;
let archived: LedgerWorld | undefined;
afterAll(() => Promise.all([world?.stop(), archived?.stop()]));

/** A ledger that did not go back: there every sale is known. */
async function freshWorld(): Promise<LedgerWorld> {
  return (world = await (world?.anew() ?? LedgerWorld.start()));
}

describeSettlementStore('RedisSettlementStore', async () => (await freshWorld()).asStoreWorld());

describeSettlementStore('RedisSettlementStore with an outbox', async () => {
  archived = await (archived?.anew() ?? LedgerWorld.start(undefined, true));
  return archived.asStoreWorld();
});

it('counts for the queue, its shares and the balance what is claimed at the same time', async () => {
  const { store, redis } = await freshWorld();
  const claim = (made: ReturnType<typeof aPayment>, balance: bigint) =>
    store.claim(aRequester(), {
      ...made,
      means: { balance, allowance: undefined },
      isAccepted: false,
    });
  const few = await Promise.all(Array.from({ length: 5 }, () => claim(aPayment(), 3000n)));
  expect(few.map((one) => [one.kind, one.kind === 'claimed' && one.queued])).toEqual([
    ['claimed', 0],
    ['claimed', 1],
    ['claimed', 2],
    ['in_flight_changed', false],
    ['in_flight_changed', false],
  ]);
  const many = await Promise.all(
    Array.from({ length: LIMITS.queueMax }, () => claim(aPayment(), 10n ** 24n)),
  );
  const full = many.filter(({ kind }) => kind === 'queue_full');
  expect(full).toHaveLength(3);
  expect(many.filter(({ kind }) => kind === 'claimed')).toHaveLength(LIMITS.queueMax - 3);
  const lists = ['live', 'queued', 'deadlines', 'pending'] as const;
  const lengths = await Promise.all(lists.map((list) => redis.zcard(listKey(CHAIN_ID, list))));
  expect(lengths).toEqual(lists.map(() => LIMITS.queueMax));
  const { asset, authorization } = aPayment().payment;
  const newest = [listKey(CHAIN_ID, 'newest'), payerKey(CHAIN_ID, authorization.from)];
  expect(await Promise.all(newest.map((list) => redis.zcard(list)))).toEqual([500, 50]);
  expect(await redis.hget(inFlightKey(CHAIN_ID, asset, authorization.from), '_b')).toBe(
    String(1000 * LIMITS.queueMax),
  );
});

it('an older claim that comes back and is withdrawn again leaves reserved what a newer claim has in flight', async () => {
  const own = await freshWorld();
  const { store, redis } = own;
  const [first, second, made] = [aRequester(), aRequester(), aPayment()];
  const means = { balance: 10n ** 24n, allowance: 10n ** 24n };
  const claim = async (requester: typeof first): Promise<ClaimRef> => {
    const claimed = await store.claim(requester, { ...made, means, isAccepted: false });
    if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
    return { chainId: CHAIN_ID, id: claimed.id };
  };
  const inFlight = async (): Promise<bigint> => {
    const { identity, payment } = aPayment();
    const { asset, authorization } = payment;
    const { from } = authorization;
    const payer = { chainId: CHAIN_ID, asset, payer: from, blamed: [from] };
    return (await store.look(identity, payer)).inFlight.balanceNeeded;
  };
  const before = await inFlight();
  const older = await claim(first);
  const record = await redis.dumpBuffer(recordKey(CHAIN_ID, older.id));
  await redis.del(recordKey(CHAIN_ID, older.id));
  await store.heartbeat(CHAIN_ID, 'p', () => true);
  // The newer claim was made on a ledger that knew of the withdrawal.
  await redis.del(authorizationKey(CHAIN_ID, made.identity.authorizationId));
  const { asset, authorization } = made.payment;
  await redis.hdel(inFlightKey(CHAIN_ID, asset, authorization.from), made.identity.authorizationId);
  const newer = await claim(second);
  await own.broadcast(newer, `0x${'6e'.repeat(32)}`);
  const reserved = await inFlight();
  expect(reserved).toBeGreaterThan(before);
  await redis.restore(recordKey(CHAIN_ID, older.id), 0, record);
  const acknowledgedWithdrawal = { ref: older, reason: 'settlement_not_sent' } as const;
  expect(await store.replayWithdrawal(acknowledgedWithdrawal)).toBe(true);
  expect(await inFlight()).toBe(reserved);
});

it('a claim made while another one was lost is sold to no one else once a lane brings that one back', async () => {
  const own = await freshWorld();
  const { store, redis } = own;
  const [first, second, made] = [aRequester(), aRequester(), aPayment()];
  const { authorizationId } = made.identity;
  const means = { balance: 10n ** 24n, allowance: 10n ** 24n };
  const claim = async (requester: typeof first): Promise<ClaimRef> => {
    const claimed = await store.claim(requester, { ...made, means, isAccepted: false });
    if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
    return { chainId: CHAIN_ID, id: claimed.id };
  };
  const older = await claim(first);
  const record = await redis.dumpBuffer(recordKey(CHAIN_ID, older.id));
  await redis.del(recordKey(CHAIN_ID, older.id), authorizationKey(CHAIN_ID, authorizationId));
  const newer = await claim(second);
  await own.broadcast(newer, `0x${'6c'.repeat(32)}`);
  await own.include(newer);
  const sale = { ref: older, authorizationId, requester: first, isAccepted: true };
  expect(await store.replaySale(sale)).toBe(false);
  await redis.restore(recordKey(CHAIN_ID, older.id), 0, record);
  expect(await store.replaySale(sale)).toBe(true);
  expect((await store.redeem(newer, second, 'included')).kind).toBe('lost');
  await own.end(newer, 'finalized');
  await new Promise((resolve) => setTimeout(resolve, CONTRACT_UNCLAIMED_MS + 1));
  expect(await own.asStoreWorld().unclaimed()).not.toContain(newer.id);
});

it('is unclaimed as of another time where it was sold meanwhile, and the answer did not arrive', async () => {
  const own = await freshWorld();
  const [requester, made] = [aRequester(), aPayment()];
  const means = { balance: 10n ** 24n, allowance: 10n ** 24n };
  const claimed = await own.store.claim(requester, { ...made, means, isAccepted: false });
  if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
  const ref: ClaimRef = { chainId: CHAIN_ID, id: claimed.id };
  await own.broadcast(ref, `0x${'6d'.repeat(32)}`);
  await own.include(ref);
  await own.end(ref, 'finalized');
  const unclaimedAt = async (): Promise<string | null> => {
    await new Promise((resolve) => setTimeout(resolve, CONTRACT_UNCLAIMED_MS + 1));
    await own.asStoreWorld().unclaimed();
    return own.redis.hget(recordKey(CHAIN_ID, ref.id), 't_unclaimed');
  };
  const first = await unclaimedAt();
  expect(first).not.toBeNull();
  expect((await own.store.redeem(ref, requester, 'included')).kind).toBe('sold');
  expect(await unclaimedAt()).toBeNull();
  await own.store.rollBack(ref, made.identity.authorizationId, requester);
  const { authorizationId } = made.identity;
  const sale = { ref, authorizationId, requester, isAccepted: false };
  const second = await unclaimedAt();
  expect(Number(second)).toBeGreaterThan(Number(first));
  expect(await own.store.replaySale(sale)).toBe(true);
  expect(await unclaimedAt()).toBeNull();
});

describe('what is paid and not delivered', () => {
  const history = {
    databaseUrl: new Secret(''),
    migrates: false,
    months: undefined,
    hotMs: 0,
    webhooks: undefined,
    catalogue: undefined,
    reconcilesAt: undefined,
  };
  const means = { balance: 10n ** 24n, allowance: 10n ** 24n };

  async function unclaimed(own: LedgerWorld, keyTag: string, made = aPayment()): Promise<ClaimRef> {
    const requester = aRequester({ keyTag });
    const claim = { ...made, means, isAccepted: false };
    const claimed = await own.store.claim(requester, claim);
    if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
    const ref: ClaimRef = { chainId: CHAIN_ID, id: claimed.id };
    await own.broadcast(ref, `0x${'7a'.repeat(32)}`);
    await own.include(ref);
    await own.end(ref, 'finalized');
    await new Promise((resolve) => setTimeout(resolve, CONTRACT_UNCLAIMED_MS + 1));
    expect(await own.asStoreWorld().unclaimed()).toContain(ref.id);
    return ref;
  }

  it('is closed in one step, and its seller still gets it with its key', async () => {
    const own = await freshWorld();
    const ref = await unclaimed(own, 'order');
    const audit = new AuditTrail(new LedgerConnections(own.redis), { history });
    const list = new UnclaimedList(own.scripts, audit);
    const close = (): Promise<boolean | undefined> =>
      list.close(CHAIN_ID, ref.id, { at: 1, by: 'operator' });
    // The reply to the first may have been lost.
    expect([await close(), await close()]).toEqual([true, true]);
    expect(await own.asStoreWorld().unclaimed()).toEqual([]);
    expect(await own.redis.hget(recordKey(CHAIN_ID, ref.id), 't_unclaimed')).toBeNull();
    expect(await audit.all(CHAIN_ID)).toMatchObject([{ by: 'operator', subject: ref.id }]);
    const [seller, other] = [aRequester({ keyTag: 'order' }), aRequester()];
    expect((await own.store.redeem(ref, other, 'included')).kind).not.toBe('sold');
    expect((await own.store.redeem(ref, seller, 'included')).kind).toBe('sold');
    expect(await close()).toBe(true);
    expect(await audit.all(CHAIN_ID)).toHaveLength(1);
    const sold = await unclaimed(own, 'another order');
    const another = aRequester({ keyTag: 'another order' });
    expect((await own.store.redeem(sold, another, 'included')).kind).toBe('sold');
    expect(await list.close(CHAIN_ID, sold.id, { at: 1, by: 'operator' })).toBe(false);
    const gone = await unclaimed(own, 'a third order');
    await own.redis.del(recordKey(CHAIN_ID, gone.id));
    expect(await own.asStoreWorld().unclaimed()).toEqual([gone.id]);
    expect(await list.close(CHAIN_ID, gone.id, { at: 1, by: 'operator' })).toBeUndefined();
    expect(await own.asStoreWorld().unclaimed()).toEqual([]);
    expect(await own.redis.exists(recordKey(CHAIN_ID, gone.id))).toBe(0);
  });

  it('is closed for good: a later sale whose answer did not arrive lists it no more', async () => {
    const own = await freshWorld();
    const made = aPayment();
    const ref = await unclaimed(own, 'order', made);
    const audit = new AuditTrail(new LedgerConnections(own.redis), { history });
    const list = new UnclaimedList(own.scripts, audit);
    expect(await list.close(CHAIN_ID, ref.id, { at: 1, by: 'operator' })).toBe(true);
    const seller = aRequester({ keyTag: 'order' });
    expect((await own.store.redeem(ref, seller, 'included')).kind).toBe('sold');
    expect(await own.store.rollBack(ref, made.identity.authorizationId, seller)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, CONTRACT_UNCLAIMED_MS + 1));
    expect(await own.asStoreWorld().unclaimed()).toEqual([]);
    expect(await own.redis.hget(recordKey(CHAIN_ID, ref.id), 't_unclaimed')).toBeNull();
    expect((await own.store.redeem(ref, seller, 'included')).kind).toBe('sold');
  });

  it('is listed page by page, and found among more small payments than one page looks at', async () => {
    const own = await freshWorld();
    const every = { payTo: undefined, payer: undefined, asset: undefined, leastAmount: undefined };
    const large = { ...every, leastAmount: 1000n };
    const queries = new SettlementQueries(own.scripts, NO_ARCHIVE);
    const refs = [];
    for (const order of ['a', 'b', 'c']) refs.push(await unclaimed(own, order));
    const newest = refs.map(({ id }) => id).reverse();
    const walk = async (filter: UnclaimedFilter, isClosing = false): Promise<string[][]> => {
      const pages: string[][] = [];
      let after: UnclaimedPlace | undefined;
      do {
        const part = await queries.newestUnclaimed(CHAIN_ID, filter, after, 50);
        pages.push(part.found.map(({ settlement }) => settlement.view.id));
        after = part.stoppedAt;
        // One that leaves the list meanwhile moves no other from its page.
        if (isClosing && after) await own.redis.zrem(listKey(CHAIN_ID, 'unclaimed'), after.id);
      } while (after !== undefined);
      return pages;
    };
    expect((await walk(every)).flat()).toEqual(newest);
    const [last = ''] = newest;
    const record = await own.redis.hgetall(recordKey(CHAIN_ID, last));
    const details = (await own.redis.get(detailsKey(CHAIN_ID, last))) ?? '';
    const dust = Array.from({ length: 2500 }, (_, n) => `dust${n}`);
    const at = Date.now() + 1;
    await Promise.all(
      dust.map(async (id) => {
        await own.redis.hset(recordKey(CHAIN_ID, id), record);
        await own.redis.set(
          detailsKey(CHAIN_ID, id),
          JSON.stringify({ ...(JSON.parse(details) as object), amount: '1' }),
        );
        await own.redis.zadd(listKey(CHAIN_ID, 'unclaimed'), at, id);
      }),
    );
    const pages = await walk(large);
    expect(pages.flat()).toEqual(newest);
    expect(pages.length).toBeLessThan(4);
    expect((await walk({ ...every, payTo: `0x${'ab'.repeat(20)}` })).flat()).toEqual([]);
    const all = (await walk(every, true)).flat();
    expect([all.length, new Set(all).size]).toEqual([2503, 2503]);
  });

  it('is pushed out by no number of newer ones', async () => {
    const own = await freshWorld();
    const ref = await unclaimed(own, 'order');
    const dust = Array.from({ length: 5001 }, (_, n) => [Date.now() + 1, `dust${n}`]).flat();
    await own.redis.zadd(listKey(CHAIN_ID, 'unclaimed'), ...dust);
    expect(await own.asStoreWorld().unclaimed()).toContain(ref.id);
    const queries = new SettlementQueries(own.scripts, NO_ARCHIVE);
    expect(await queries.unclaimed(CHAIN_ID)).toMatchObject({
      count: 5002,
      sums: [{ count: 1, amount: 1000n }],
    });
  });
});

it('a process that learns while it departs that the ledger went back is still waited for', async () => {
  const own = await freshWorld();
  const [, awaited] = speakersKeys(CHAIN_ID);
  await own.store.heartbeat(CHAIN_ID, 'ended', () => true);
  const before = await own.epochs.of(CHAIN_ID);
  let hasReplayed = true;
  own.store.onEpochChange(() => (hasReplayed = false));
  await own.redis.hset(epochKey(CHAIN_ID), 'run', 'another server');
  own.epochs.forget(CHAIN_ID, before);
  await own.store.depart(CHAIN_ID, 'ended', () => hasReplayed);
  expect(await own.redis.smembers(awaited)).toContain('ended');
});

describe('a lane of a ledger that went back', () => {
  it('takes what is newer, and what is older once the process that told of it has spoken', async () => {
    const own = await freshWorld();
    const { store } = own;
    const held = await own.lane();
    const claim = async (): Promise<ClaimRef> => {
      const [requester, { payment, identity }] = [aRequester(), aPayment()];
      const means = { balance: 10n ** 24n, allowance: 10n ** 24n };
      const made = { payment, identity, means, isAccepted: false };
      const claimed = await store.claim(requester, made);
      if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
      return { chainId: CHAIN_ID, id: claimed.id };
    };
    const taken = async (): Promise<readonly string[]> => {
      const ids = (await own.lanes.queue.take(held, 100)).map(({ id }) => id);
      await own.lanes.queue.giveBack(held, ids);
      return ids;
    };
    await store.heartbeat(CHAIN_ID, 'late', () => true);
    const older = await claim();
    await own.goBackBeforeSale(older, 2 * RESTATE_MS);
    const again = await own.lanes.leases.acquire(held.lane, CHAIN_ID, 'worker', 60_000);
    if (again === undefined) throw new Error('the lane is not free');
    Object.assign(held, again);
    const newer = await claim();
    await own.lanes.queue.ready(CHAIN_ID, [older.id, newer.id]);
    expect(await taken()).toEqual([newer.id]);
    const acknowledgedWithdrawal = { ref: older, reason: 'settlement_not_sent' } as const;
    expect(await store.replayWithdrawal(acknowledgedWithdrawal)).toBe(true);
    const other = await claim();
    await own.lanes.queue.ready(CHAIN_ID, [other.id]);
    await store.heartbeat(CHAIN_ID, 'late', () => true);
    expect(new Set(await taken())).toEqual(new Set([newer.id, other.id]));
  });

  it('takes what is older once a process that is silent was awaited for long enough', async () => {
    const own = await freshWorld();
    const [, awaited] = speakersKeys(CHAIN_ID);
    await own.store.heartbeat(CHAIN_ID, 'dead', () => true);
    const before = await own.epochs.of(CHAIN_ID);
    await own.redis.hset(epochKey(CHAIN_ID), 'run', 'a third server');
    own.epochs.forget(CHAIN_ID, before);
    await own.epochs.of(CHAIN_ID);
    expect(await own.redis.smembers(awaited)).toContain('dead');
    const left = await own.redis.pttl(awaited);
    expect(left).toBeGreaterThan(AWAITED_MS - 5000);
    expect(left).toBeLessThanOrEqual(AWAITED_MS);
  });
});
