import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { usedBytes } from '../../bench/support/redis-memory.js';
import { rowOf } from '../../src/history/settlement-row.js';
import { LedgerEpochChangedError } from '../../src/protocol/errors.js';
import { hashOf } from '../../src/protocol/payment/hash.js';
import { termsOf } from '../../src/protocol/payment/identity.js';
import type {
  EvictableSettlement,
  EvictionDecision,
} from '../../src/settlement/ledger/evictable-settlements.js';
import {
  archiverKey,
  authorizationKey,
  epochKey,
  listKey,
  outboxKey,
  payerKey,
  recordKey,
  transactionKey,
} from '../../src/settlement/ledger/keys.js';
import type { LedgerAt } from '../../src/settlement/ledger/ledger-scripts.js';
import { RedisBindings } from '../../src/settlement/ledger/redis-bindings.js';
import { RedisEvictableSettlements } from '../../src/settlement/ledger/redis-evictable-settlements.js';
import { RedisLabelStore } from '../../src/settlement/ledger/redis-label-store.js';
import { RedisOutbox } from '../../src/settlement/ledger/redis-outbox.js';
import type { Requester } from '../../src/settlement/ledger/requester.js';
import type { ClaimRef } from '../../src/settlement/ledger/settlement-store.js';
import {
  anAcceptedPayment,
  anEip3009Authorization,
} from '../builders/protocol/payment/accepted-payment.js';
import { FakeArchive } from '../builders/settlement/ledger/settlement-archive.js';
import { aSettlementView } from '../builders/settlement/model/settlement-view.js';
import { anAttempt, LedgerWorld, LIMITS } from '../settlement/ledger/ledger-world.js';
import { redisLanes } from '../settlement/ledger/redis-lanes.js';
import { describeEvictable, describeOutbox } from '../twins/history/eviction-contract.js';
import { CHAIN_ID } from '../twins/settlement/ledger/settlement-store-contract.js';

let nonces = 0;
let requesters = 0;
let transactions = 0;

const newHash = (): Hex => {
  transactions += 1;
  return `0x${transactions.toString(16).padStart(64, '0')}`;
};

describe('settlements that leave a ledger', () => {
  let world: LedgerWorld;
  let evictable: RedisEvictableSettlements;
  let at: LedgerAt;

  beforeAll(async () => {
    world = await LedgerWorld.start(undefined, true);
  });
  afterAll(() => world.stop());
  beforeEach(async () => {
    world = await world.anew();
    evictable = new RedisEvictableSettlements(world.scripts);
    at = { chainId: CHAIN_ID, epoch: await world.epochs.of(CHAIN_ID) };
  });

  /** As an archiver does it. */
  const archiveAll = () => world.redis.xtrim(outboxKey(CHAIN_ID), 'MAXLEN', 0);

  function aRequester(): Requester {
    requesters += 1;
    return {
      id: `p.${requesters}`,
      keyTag: `key-${requesters}`,
      credentials: ['c'],
      arrivedAt: Date.now(),
    };
  }

  function aPayment(nonce = (nonces += 1)) {
    const authorization = anEip3009Authorization({
      nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
    });
    const payment = anAcceptedPayment({ chainId: CHAIN_ID, authorization });
    const terms = termsOf(CHAIN_ID, payment.asset, authorization);
    return { nonce, payment, identity: { ...terms, signedTag: `signed-${nonce}` } };
  }

  async function claim(requester: Requester, of = aPayment()) {
    const { payment, identity } = of;
    const claimed = await world.store.claim(requester, {
      payment,
      identity,
      isAccepted: false,
      means: { balance: 10n ** 24n, allowance: 10n ** 24n },
    });
    if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
    return { ref: { chainId: CHAIN_ID, id: claimed.id }, of };
  }

  async function paid({ sell = true } = {}) {
    const requester = aRequester();
    const { ref, of } = await claim(requester);
    const hash = newHash();
    await world.broadcast(ref, hash);
    await world.include(ref);
    if (sell) await world.store.redeem(ref, requester, 'included');
    await world.end(ref, 'finalized');
    return { ref, of, hash, requester };
  }

  async function read(unchangedMs = 0): Promise<readonly EvictableSettlement[]> {
    const found = await evictable.read(at, unchangedMs, 100);
    if (found.kind === 'behind') throw new Error('the archive is behind');
    return found.settlements;
  }

  async function part(ref: ClaimRef, verdict: EvictionDecision = 'leaves'): Promise<number> {
    const one = (await read()).find(({ id }) => id === ref.id);
    if (one === undefined) throw new Error('it is not evictable yet');
    return evictable.evict(at, [{ id: one.id, digest: one.digest, verdict }]);
  }

  async function fillOutbox(): Promise<void> {
    const pipeline = world.redis.pipeline();
    for (let i = 0; i < 1000; i += 1) pipeline.xadd(outboxKey(CHAIN_ID), '*', 'id', `other-${i}`);
    await pipeline.exec();
  }

  const isHeld = async ({ id }: ClaimRef) =>
    (await world.redis.exists(recordKey(CHAIN_ID, id))) === 1;

  describeOutbox('an outbox in Redis', () =>
    Promise.resolve({
      outbox: new RedisOutbox(world.scripts),
      chainId: CHAIN_ID,
      broadcast: async () => {
        const { ref } = await claim(aRequester());
        await world.broadcast(ref, newHash());
        return ref.id;
      },
      include: (id) => world.include({ chainId: CHAIN_ID, id }),
      lose: async (id) => {
        await world.redis.del(recordKey(CHAIN_ID, id));
      },
      goBack: async () => {
        await world.redis.hset(epochKey(CHAIN_ID), 'run', 'another server');
        world.epochs.forget(CHAIN_ID, await world.epochs.of(CHAIN_ID));
        await world.epochs.of(CHAIN_ID);
      },
    }),
  );

  describeEvictable('settlements in Redis', () => {
    const requesters = new Map<string, Requester>();
    return Promise.resolve({
      evictable,
      at,
      end: async () => {
        const { ref, requester } = await paid({ sell: false });
        requesters.set(ref.id, requester);
        await archiveAll();
        return ref.id;
      },
      change: async (id) => {
        const requester = requesters.get(id) ?? aRequester();
        const sold = await world.store.redeem({ chainId: CHAIN_ID, id }, requester, 'finalized');
        expect(sold.kind).toBe('sold');
        await archiveAll();
      },
      isHeld: (id) => isHeld({ chainId: CHAIN_ID, id }),
      fallBehind: fillOutbox,
    });
  });

  it('leave nothing behind', async () => {
    const kinds = async () =>
      (await world.redis.keys('*')).filter((key) => /:(s|d|w|a|x|c):/.test(key)).sort();
    const before = await kinds();
    const { ref, hash, of } = await paid();
    await archiveAll();
    const payer = of.payment.authorization.from;
    expect(await world.redis.zscore(payerKey(CHAIN_ID, payer), ref.id)).not.toBeNull();
    expect(await world.redis.exists(transactionKey(CHAIN_ID, hash.slice(2)))).toBe(1);
    expect(await part(ref)).toBe(1);
    expect(await kinds()).toEqual(before);
    expect(await world.redis.zscore(payerKey(CHAIN_ID, payer), ref.id)).toBeNull();
    expect(await world.redis.zcard(listKey(CHAIN_ID, 'cooling'))).toBe(0);
    // A repetition finds nothing.
    expect(await evictable.evict(at, [{ id: ref.id, digest: 'any', verdict: 'leaves' }])).toBe(0);
  });

  it('are read once nothing has changed them for so long, and nothing of them waits to be archived', async () => {
    const { ref } = await paid();
    expect(await read()).toEqual([]);
    await archiveAll();
    expect((await read()).map(({ id }) => id)).toEqual([ref.id]);
    expect((await read())[0]?.settlement).toMatchObject({
      isAcknowledged: true,
      view: { id: ref.id, state: 'finalized', sale: { state: 'sold' } },
    });
    expect(await read(60_000)).toEqual([]);
  });

  it('are not read while too much waits to be archived', async () => {
    await paid();
    await archiveAll();
    await fillOutbox();
    expect(await evictable.read(at, 0, 100)).toEqual({ kind: 'behind' });
  });

  it('stay when they were sold since they were read, and are looked at again', async () => {
    const { ref, requester } = await paid({ sell: false });
    await archiveAll();
    const [one] = await read();
    expect((await world.store.redeem(ref, requester, 'finalized')).kind).toBe('sold');
    expect(
      await evictable.evict(at, [{ id: ref.id, digest: one?.digest ?? '', verdict: 'leaves' }]),
    ).toBe(0);
    expect(await isHeld(ref)).toBe(true);
    await archiveAll();
    expect(await part(ref)).toBe(1);
  });

  it('that stay are read again once something changes them', async () => {
    const { ref, requester } = await paid({ sell: false });
    await archiveAll();
    expect(await part(ref, 'stays')).toBe(0);
    expect(await read()).toEqual([]);
    await world.store.redeem(ref, requester, 'finalized');
    await archiveAll();
    expect((await read()).map(({ id }) => id)).toEqual([ref.id]);
  });

  it('that are to leave later are read again after the same time', async () => {
    const { ref } = await paid();
    await archiveAll();
    await world.redis.zadd(listKey(CHAIN_ID, 'cooling'), 1, ref.id);
    expect((await read(60_000)).map(({ id }) => id)).toEqual([ref.id]);
    await part(ref, 'later');
    expect(await read(60_000)).toEqual([]);
    expect((await read()).map(({ id }) => id)).toEqual([ref.id]);
  });

  it('leave after the claims of their authorization that count less', async () => {
    const first = await claim(aRequester());
    await world.broadcast(first.ref, newHash());
    await world.end(first.ref, 'reverted');
    const requester = aRequester();
    const second = await claim(requester, first.of);
    await world.broadcast(second.ref, newHash());
    await world.include(second.ref);
    await world.store.redeem(second.ref, requester, 'included');
    await world.end(second.ref, 'finalized');
    await archiveAll();
    // Else the one that reverted would be all that is known of a payment that was made.
    expect(await part(second.ref)).toBe(0);
    expect(await isHeld(second.ref)).toBe(true);
    expect(await part(first.ref)).toBe(1);
    expect(await part(second.ref)).toBe(1);
    const { authorizationId } = first.of.identity;
    expect(await world.redis.exists(authorizationKey(CHAIN_ID, authorizationId))).toBe(0);
  });

  it('that failed leave while another claim of their authorization is under way', async () => {
    const first = await claim(aRequester());
    await world.broadcast(first.ref, newHash());
    await world.end(first.ref, 'reverted');
    const second = await claim(aRequester(), first.of);
    await archiveAll();
    expect(await part(first.ref)).toBe(1);
    const look = await world.store.look(first.of.identity, {
      chainId: CHAIN_ID,
      asset: first.of.payment.asset,
      payer: first.of.payment.authorization.from,
      blamed: [first.of.payment.authorization.from],
    });
    expect(look.known).toMatchObject({ id: second.ref.id, state: 'queued' });
  });

  it('are not made again by a lane that stood still while they left', async () => {
    const { ref, of, hash } = await paid();
    await archiveAll();
    const lost = await claim(aRequester());
    expect(await part(ref)).toBe(1);
    const archive = new FakeArchive();
    const { authorizationId } = of.identity;
    archive.add(aSettlementView({ id: ref.id, state: 'finalized' }), authorizationId, CHAIN_ID);
    const [ended] = archive.settlements.splice(0);
    if (ended === undefined) throw new Error('it is not archived');
    archive.settlements.push({ ...ended, times: { ...ended.times, finished: 2 } });
    const lanes = redisLanes(world.scripts, LIMITS, archive);
    const held = await world.lane();
    await world.redis.del(recordKey(CHAIN_ID, lost.ref.id));
    await lanes.leases.restoreAttempts(
      held,
      [
        {
          attempt: anAttempt(0, [ref.id, lost.ref.id], hash),
          payments: new Map([
            [ref.id, of.payment],
            [lost.ref.id, lost.of.payment],
          ]),
        },
      ],
      1,
    );
    expect([await isHeld(ref), await isHeld(lost.ref)]).toEqual([false, true]);
    expect(archive.asked).toEqual(['id']);
  });

  it('that had a key or an identifier leave some hundred bytes of each, and no more', async () => {
    const COUNT = 20_000;
    const DAY = 86_400;
    const bindings = new RedisBindings(world.redis, 30 * DAY);
    const labels = new RedisLabelStore(world.redis, { retentionSeconds: 30 * DAY });
    const bytesEach = async (make: (name: string) => Promise<unknown>): Promise<number> => {
      const before = await usedBytes(world.redis);
      for (let from = 0; from < COUNT; from += 1000) {
        const names = Array.from({ length: 1000 }, (_, index) => String(from + index));
        await Promise.all(names.map(make));
      }
      return ((await usedBytes(world.redis)) - before) / COUNT;
    };
    const of = (what: string, name: string) => hashOf([what, name]);
    const ofKey = await bytesEach((name) =>
      bindings.bind(
        { ...aRequester(), id: `0123456789abcdef0123.${name}`, keyTag: of('key', name) },
        {
          chainId: CHAIN_ID,
          authorizationId: of('authorization', name),
          termsTag: of('terms', name),
        },
      ),
    );
    const ofLabel = await bytesEach((name) =>
      labels.note(of('label', name), { chainId: CHAIN_ID, id: of('settlement', name) }),
    );
    // The figures of docs/history.md.
    expect([ofKey > 100, ofKey < 350, ofLabel > 100, ofLabel < 270]).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  it('are archived when a lane has made them again, with all that is known of them', async () => {
    const asked = aPayment();
    const of = { ...asked, identity: { ...asked.identity, signedTag: hashOf(['signed']) } };
    const [lost, kept] = [await claim(aRequester(), of), await claim(aRequester())];
    const hash = newHash();
    const held = await world.lane();
    await world.redis.del(recordKey(CHAIN_ID, lost.ref.id));
    const before = await world.redis.hgetall(recordKey(CHAIN_ID, kept.ref.id));
    const lanes = redisLanes(world.scripts, LIMITS, new FakeArchive());
    const payments = new Map([lost, kept].map(({ ref, of: made }) => [ref.id, made.payment]));
    const attempt = anAttempt(0, [...payments.keys()], hash);
    await lanes.leases.restoreAttempts(held, [{ attempt, payments }], 1);
    const outbox = new RedisOutbox(world.scripts);
    // The former archiver is gone.
    await world.redis.del(archiverKey(CHAIN_ID));
    const found = await outbox.read(at, { processId: 'p', leaseMs: 1000 }, 100);
    if (found.kind === 'held') throw new Error('another one reads it');
    const made = found.changes.find(({ id }) => id === lost.ref.id);
    if (made?.kind !== 'recorded') throw new Error('it was not noted');
    const row = rowOf(CHAIN_ID, 1, made);
    expect(row).toMatchObject({ state: 'broadcast', amount: '1000', arrived_at: null });
    // What another has of it is not made less.
    const after = await world.redis.hgetall(recordKey(CHAIN_ID, kept.ref.id));
    for (const name of ['signed', 't_arrived']) expect(after[name]).toBe(before[name]);
  });

  // The last: it leaves the ledger with that epoch.
  it('stay in a ledger of another epoch', async () => {
    const { ref } = await paid();
    await archiveAll();
    const [one] = await read();
    await world.redis.hset(epochKey(CHAIN_ID), 'id', 'another');
    const parting = { id: ref.id, digest: one?.digest ?? '', verdict: 'leaves' } as const;
    await expect(evictable.evict(at, [parting])).rejects.toThrow(LedgerEpochChangedError);
    expect(await isHeld(ref)).toBe(true);
  });
});
