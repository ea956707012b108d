import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Hex } from 'viem';
import { freePort } from '../../../sandbox/processes.js';
import { startRedis } from '../../../sandbox/redis.js';
import { LedgerConnections } from '../../../src/platform/redis/ledger-connections.js';
import { LedgerEpochChangedError } from '../../../src/protocol/errors.js';
import { termsOf } from '../../../src/protocol/payment/identity.js';
import { LedgerEpochs } from '../../../src/settlement/ledger/epoch.js';
import {
  epochKey,
  formatKey,
  listKey,
  payerKey,
  recordKey,
} from '../../../src/settlement/ledger/keys.js';
import { LedgerScripts } from '../../../src/settlement/ledger/ledger-scripts.js';
import { RedisSettlementStore } from '../../../src/settlement/ledger/redis-settlement-store.js';
import { type ClaimRef, RESTATE_MS } from '../../../src/settlement/ledger/settlement-store.js';
import {
  anAcceptedPayment,
  anEip3009Authorization,
} from '../../builders/protocol/payment/accepted-payment.js';
import { eventually } from '../../support/http.js';
import { newAccount } from '../../support/payments.js';
import { RedisGate } from '../../support/redis-gate.js';
import {
  anUpto,
  aPayment,
  aRequester,
  CHAIN_ID,
} from '../../twins/settlement/ledger/settlement-store-contract.js';
import { anAttempt, BLOCK, LedgerWorld, LIMITS, NO_BUDGET } from './ledger-world.js';
import { redisLanes } from './redis-lanes.js';

const TX: Hex = `0x${'5f'.repeat(32)}`;

/** Attacks on the ledger itself, by what Redis and its servers do, and by whom it serves first. */
describe('the ledger under attack', () => {
  let world: LedgerWorld;

  beforeAll(async () => {
    world = await LedgerWorld.start();
  });
  afterAll(() => world.stop());

  async function claimed(
    made = aPayment(),
    { requester = aRequester(), isAccepted = false } = {},
  ): Promise<ClaimRef> {
    const result = await world.store.claim(requester, {
      ...made,
      means: { balance: 10n ** 24n, allowance: undefined },
      isAccepted,
    });
    if (result.kind !== 'claimed') throw new Error(result.kind);
    return { chainId: CHAIN_ID, id: result.id };
  }

  function paymentTo(payTo: Hex, nonce: number, validBefore = 2_000_000_000n) {
    const authorization = anEip3009Authorization({
      to: payTo,
      validBefore,
      nonce: `0x9${nonce.toString(16).padStart(63, '0')}`,
    });
    const payment = anAcceptedPayment({ chainId: CHAIN_ID, payTo, authorization });
    const terms = termsOf(CHAIN_ID, payment.asset, authorization);
    return { payment, identity: { ...terms, signedTag: 'signed' } };
  }

  const ttlOf = ({ id }: ClaimRef): Promise<number> => world.redis.ttl(recordKey(CHAIN_ID, id));

  it('a stream of new small payees does not overtake who waits, whatever its address', async () => {
    const held = await world.lane();
    const large: Hex = `0x${'ff'.repeat(20)}`;
    const ids = new Map<string, string>();
    const add = async (payTo: Hex, nonce: number): Promise<void> => {
      const { id } = await claimed(paymentTo(payTo, nonce));
      ids.set(id, payTo);
      await world.lanes.queue.ready(CHAIN_ID, [id]);
    };
    let nonce = 0;
    for (let count = 0; count < 3; count += 1) await add(large, (nonce += 1));
    const served: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      // Two new payees a turn, with smaller addresses.
      for (let count = 0; count < 2; count += 1) {
        nonce += 1;
        await add(`0x${nonce.toString(16).padStart(40, '0')}`, nonce);
      }
      for (const { id } of await world.lanes.queue.take(held, 1)) served.push(ids.get(id) ?? '');
    }
    // Those that were there before a payee came are served before it: it is served, and not once only.
    expect(served[0]).toBe(large);
    expect(served.slice(0, 4)).toContain(large);
    const firstNew = served.slice(1, 3);
    expect(firstNew).not.toContain(large);
    expect(served.filter((payTo) => payTo === large).length).toBeGreaterThanOrEqual(2);
    await world.lanes.leases.release(held);
  });

  it('payees have turns within one take and over several, each by deadline, and leave nothing behind', async () => {
    const own = await LedgerWorld.start();
    const held = await own.lane();
    const payees = Array.from({ length: 5 }, (_, n): Hex => `0x${String(n + 1).repeat(40)}`);
    const names = new Map<string, string>();
    let nonce = 5000;
    for (const [index, payTo] of payees.entries()) {
      for (let count = 0; count < 2 * index + 1; count += 1) {
        const validBefore = 2_000_000_000n - BigInt(count);
        const made = paymentTo(payTo, (nonce += 1), validBefore);
        const means = { balance: 10n ** 24n, allowance: undefined };
        const claim = await own.store.claim(aRequester(), { ...made, means, isAccepted: false });
        if (claim.kind !== 'claimed') throw new Error(claim.kind);
        // The latest deadline was claimed first.
        names.set(claim.id, `${index + 1}.${2 * index - count}`);
      }
    }
    expect(await own.lanes.queue.ready(CHAIN_ID, [...names.keys()])).toBe(25);
    // One that ended meanwhile, and is still in the list of its payee.
    const gone = [...names].find(([, name]) => name === '2.0')?.[0] ?? '';
    await own.redis.hset(recordKey(CHAIN_ID, gone), 'stage', 'withdrawn');
    const taken = async (most: number): Promise<string> => {
      const ids = (await own.lanes.queue.take(held, most)).map(({ id }) => id);
      return ids.map((id) => names.get(id) ?? id).join(' ');
    };
    expect(await taken(3)).toBe('1.0 3.0 4.0');
    expect(await taken(6)).toBe('5.0 2.1 3.1 4.1 5.1 2.2');
    expect(await taken(1)).toBe('3.2');
    expect(await taken(99)).toBe('4.2 5.2 3.3 4.3 5.3 3.4 4.4 5.4 4.5 5.5 4.6 5.6 5.7 5.8');
    expect(await taken(99)).toBe('');
    const left = await own.redis.keys(`x402:{${CHAIN_ID}:0}:*payees`);
    left.push(...(await own.redis.keys(`x402:{${CHAIN_ID}:0}:ready:*`)));
    expect(left).toEqual([]);
    await own.stop();
  });

  it.each([
    ['its deadline and a minute', 300, 361],
    ['an hour, however late its deadline', 10 ** 9, 3601],
  ])('what is settled for nothing leaves nothing for longer than %s', async (_, seconds, most) => {
    const payer = newAccount().address;
    const deadline = BigInt(Math.floor(Date.now() / 1000) + seconds);
    const ref = await claimed(anUpto(0n, { from: payer, deadline }));
    expect(await ttlOf(ref)).toBeLessThanOrEqual(most);
    expect(await ttlOf(ref)).toBeGreaterThan(most - 10);
    for (const kind of [`d:${ref.id}`, `w:${ref.id}`]) {
      const left = await world.redis.ttl(`x402:{${CHAIN_ID}:0}:${kind}`);
      expect([kind, left > 0 && left <= most]).toEqual([kind, true]);
    }
    // The payments need no money: no payer leaves a list, and no list of all payers grows.
    expect(await world.redis.exists(payerKey(CHAIN_ID, payer))).toBe(0);
    expect(await world.redis.zscore(listKey(CHAIN_ID, 'newest'), ref.id)).toBeNull();
    const index = (await world.redis.keys(`x402:{${CHAIN_ID}:0}:a:*`)).map(async (key) => ({
      ttl: await world.redis.ttl(key),
      names: Object.values(await world.redis.hgetall(key)).includes(ref.id),
    }));
    const own = (await Promise.all(index)).filter(({ names }) => names);
    expect(own.map(({ ttl }) => ttl > 0 && ttl <= most)).toEqual([true]);
  });

  it('respond-async refused in a loop leaves nothing for longer than ten minutes', async () => {
    const handed = await claimed(aPayment(), { isAccepted: true });
    const waited = await claimed();
    for (const ref of [handed, waited]) {
      await world.refuse(ref, 'invalid_exact_evm_transaction_simulation_failed');
    }
    expect(await ttlOf(handed)).toBeLessThanOrEqual(600);
    expect(await ttlOf(handed)).toBeGreaterThan(0);
    expect(await ttlOf(waited)).toBeLessThanOrEqual(60);
    const details = await world.redis.ttl(`x402:{${CHAIN_ID}:0}:d:${handed.id}`);
    expect(details).toBeLessThanOrEqual(600);
    // One that had an attempt is kept, in the compact form of Redis.
    const sent = await claimed();
    await world.broadcast(sent, TX);
    await world.include(sent);
    await world.end(sent, 'finalized');
    expect(await ttlOf(sent)).toBeGreaterThan(LIMITS.retentionSeconds);
    expect(await world.redis.object('ENCODING', recordKey(CHAIN_ID, sent.id))).toBe('listpack');
  });

  it('what is queued while all lanes are paused ends at its deadline', async () => {
    const past = BigInt(Math.floor(Date.now() / 1000) - 60);
    const { id } = await claimed(paymentTo(`0x${'77'.repeat(20)}`, 9001, past), {
      isAccepted: true,
    });
    const { expired } = await world.lanes.queue.sweep(CHAIN_ID, 100);
    expect(expired).toEqual([id]);
    const [stage, reason] = await world.redis.hmget(recordKey(CHAIN_ID, id), 'stage', 'reason');
    expect(stage).toBe('expired');
    expect(reason).toBe('invalid_exact_evm_payload_authorization_valid_before');
    expect(await world.redis.zscore(listKey(CHAIN_ID, 'queued'), id)).toBeNull();
  });

  it('scripts refuse what is not in the table', async () => {
    const requester = aRequester();
    const ref = await claimed(aPayment(), { requester });
    await world.store.leave(ref, requester, 'closed', undefined);
    const held = await world.lane();
    await world.lanes.attempts.include(held, 0, BLOCK, 1, [{ id: ref.id, logIndex: 0 }]);
    await world.lanes.endings.finish(held, 0, [{ id: ref.id, state: 'finalized', isPaid: true }]);
    expect(await world.lanes.queue.ready(CHAIN_ID, [ref.id])).toBe(0);
    const allocated = await world.lanes.attempts.allocate(held, anAttempt(0, [ref.id]), NO_BUDGET);
    expect(allocated).toEqual({ kind: 'gone', ids: [ref.id] });
    expect(await world.redis.hget(recordKey(CHAIN_ID, ref.id), 'stage')).toBe('withdrawn');
  });

  it('a replacement reserves what it may cost beyond what is charged, and never exceeds a budget', async () => {
    const ref = await claimed(paymentTo(`0x${'66'.repeat(20)}`, 9100));
    const held = await world.lane();
    await world.take(held, ref.id);
    const attempt = anAttempt(0, [ref.id]);
    const budget = { costGwei: 60n, laneGwei: 100n, payeeGwei: undefined, day: '2026-11-21' };
    expect(await world.lanes.attempts.allocate(held, attempt, budget)).toEqual({ kind: 'ok' });
    const dearer = { ...attempt, transactions: [...attempt.transactions, ...attempt.transactions] };
    const over = await world.lanes.attempts.replace(held, dearer, { ...budget, costGwei: 101n });
    expect(over).toEqual({ kind: 'budget', subject: 'lane' });
    const spentKey = `x402:{${CHAIN_ID}:0}:g:lane:${held.lane.split(':')[1] ?? ''}:2026-11-21`;
    expect(await world.redis.get(spentKey)).toBe('60');
    expect(await world.lanes.attempts.replace(held, dearer, { ...budget, costGwei: 100n })).toEqual(
      {
        kind: 'ok',
      },
    );
    expect(await world.redis.get(spentKey)).toBe('100');
    await world.lanes.attempts.closeAttempt(held, 0, 30n * 10n ** 9n);
    expect(await world.redis.get(spentKey)).toBe('30');
  });

  it('a parked settlement is handed to one asker at a time, and ends by what is found out', async () => {
    const ref = await claimed();
    await world.broadcast(ref, TX);
    const [lane = ''] = await world.redis.smembers(listKey(CHAIN_ID, 'lanes'));
    expect(lane).not.toBe('');
    const held = await world.lane();
    const other = await claimed();
    await world.take(held, other.id);
    await world.lanes.attempts.allocate(held, anAttempt(0, [other.id]), NO_BUDGET);
    const retryAtMs = Date.now() - 1;
    await world.lanes.endings.park(held, 0, 5n, [
      { id: other.id, why: 'search_failed', retryAtMs },
    ]);
    expect(await world.lanes.endings.parkedCount(CHAIN_ID)).toBe(1);
    const [due] = await world.lanes.endings.dueParked(CHAIN_ID, 10);
    expect(due).toMatchObject({ id: other.id, why: 'search_failed', tries: 0 });
    expect(due?.sentBefore).toEqual({ sinceBlock: 5n, hashes: [TX] });
    expect(await world.lanes.endings.dueParked(CHAIN_ID, 10)).toEqual([]);
    const ending = { id: other.id, state: 'foreign', isPaid: true, transaction: TX } as const;
    await world.lanes.endings.unpark(CHAIN_ID, [{ kind: 'ended', ending }]);
    expect(await world.lanes.endings.parkedCount(CHAIN_ID)).toBe(0);
    expect(await world.redis.hget(recordKey(CHAIN_ID, other.id), 'paid')).toBe('1');
  });

  it('FLUSHALL under a living process: noticed at the next step, and lanes store again what they have', async () => {
    const own = await LedgerWorld.start();
    const made = aPayment();
    const requester = aRequester();
    const result = await own.store.claim(requester, {
      ...made,
      means: { balance: undefined, allowance: undefined },
      isAccepted: false,
    });
    if (result.kind !== 'claimed') throw new Error(result.kind);
    const ref = { chainId: CHAIN_ID, id: result.id };
    const held = await own.lane();
    await own.broadcast(ref, TX, held);
    let changes = 0;
    own.lanes.leases.onEpochChange(() => (changes += 1));

    await own.redis.flushall();
    await expect(own.lanes.leases.renew(held, 1000)).rejects.toThrow(LedgerEpochChangedError);
    await expect(own.lanes.queue.take(held, 1)).rejects.toThrow(LedgerEpochChangedError);
    const again = await own.lanes.leases.acquire(held.lane, CHAIN_ID, 'worker', 60_000);
    if (again === undefined) throw new Error('it is free');
    expect(again.epoch).not.toBe(held.epoch);
    expect(changes).toBe(1);
    const payments = new Map([[ref.id, made.payment]]);
    await own.lanes.leases.restoreAttempts(
      again,
      [{ attempt: anAttempt(0, [ref.id]), payments }],
      1,
    );
    const opened = await own.lanes.leases.open(again);
    expect(opened).toMatchObject({ next: 1, attempts: [{ accountNonce: 0 }] });
    expect(opened.settlements.get(ref.id)).toMatchObject({ state: 'broadcast', accountNonce: 0 });
    expect(await own.store.join(ref, requester)).toMatchObject({
      view: { state: 'broadcast', transaction: TX, termsTag: made.identity.termsTag },
    });
    // It goes on as if nothing had been.
    await own.lanes.attempts.include(again, 0, BLOCK, 1, [{ id: ref.id, logIndex: 0 }]);
    await own.lanes.endings.finish(again, 0, [{ id: ref.id, state: 'finalized', isPaid: true }]);
    expect(
      await own.redis.exists(
        `x402:{${CHAIN_ID}:0}:f:${made.payment.asset}:${made.payment.authorization.from}`,
      ),
    ).toBe(0);
    expect(await own.redis.zcard(listKey(CHAIN_ID, 'live'))).toBe(0);
    await own.stop();
  });

  it.each([
    ['the process that knew it', false],
    ['a process that has just started', true],
  ])('FLUSHALL, found first by %s: for a moment nothing is sold', async (_, isNew) => {
    const own = await LedgerWorld.start();
    const claim = { ...aPayment(), means: { balance: undefined, allowance: undefined } };
    const handOut = async (from: RedisSettlementStore): Promise<string> =>
      (await from.claim(aRequester(), { ...claim, ...aPayment(), isAccepted: true })).kind;
    expect(await handOut(own.store)).toBe('claimed');
    await own.redis.flushall();
    const ledger = new LedgerConnections(own.redis);
    const other = new RedisSettlementStore(
      new LedgerScripts(ledger, new LedgerEpochs(ledger)),
      LIMITS,
    );
    if (isNew) {
      // To it this is a first start, and the process that knew better connects again much later.
      expect(await handOut(other)).toBe('claimed');
      await own.redis.hset(epochKey(CHAIN_ID), 'at', Date.now() - 2 * RESTATE_MS);
    }
    expect(await handOut(own.store)).toBe('not_yet');
    expect(await handOut(other)).toBe('not_yet');
    await own.stop();
  });

  it('a replica is promoted that was cut off: what was told is said again, and nothing else is withdrawn', async () => {
    const [primary, replica] = [
      await startRedis(await freePort()),
      await startRedis(await freePort()),
    ];
    const gate = await RedisGate.start(primary.port);
    const [first, second] = [
      await LedgerWorld.start({ ...primary, url: gate.url }),
      await LedgerWorld.start({ ...primary, url: gate.url }),
    ];
    const replicaClient = new Redis(replica.url);
    await replicaClient.replicaof('127.0.0.1', primary.port);
    const [seller, other] = [aRequester(), aRequester()];
    const claimOf = async (made: ReturnType<typeof aPayment>): Promise<ClaimRef> => {
      const result = await first.store.claim(seller, {
        ...made,
        means: { balance: 10n ** 24n, allowance: undefined },
        isAccepted: false,
      });
      if (result.kind !== 'claimed') throw new Error(result.kind);
      return { chainId: CHAIN_ID, id: result.id };
    };
    const [sold, waiting] = [await claimOf(aPayment()), await claimOf(aPayment())];
    const acknowledgedClaim = await claimOf(aPayment());
    const queued = [waiting.id, acknowledgedClaim.id];
    await first.lanes.queue.ready(CHAIN_ID, queued);
    await first.store.join(sold, other);
    await first.broadcast(sold, TX);
    await first.include(sold);
    const held = await first.lane();
    // A primary waits five seconds for further replicas before it begins to send.
    await eventually(
      'the replica has what was sent',
      async () => (await replicaClient.hget(recordKey(CHAIN_ID, sold.id), 'stage')) === 'included',
      30_000,
    );
    await replicaClient.replicaof('NO', 'ONE');
    // From here on the replica gets nothing.
    expect((await first.store.redeem(sold, seller, 'included')).kind).toBe('sold');
    expect((await first.store.leave(acknowledgedClaim, seller, 'timeout', undefined)).kind).toBe(
      'withdrawn',
    );
    gate.leadTo(replica.port);
    await new Promise((resolve) => setTimeout(resolve, 500));

    await expect(first.lanes.leases.renew(held, 1000)).rejects.toThrow(LedgerEpochChangedError);
    expect((await second.store.redeem(sold, other, 'included')).kind).toBe('not_yet');
    expect((await second.store.leave(waiting, seller, 'timeout', undefined)).kind).toBe('unsure');
    expect(
      await first.store.replaySale({
        ref: sold,
        authorizationId: 'known',
        requester: seller,
        isAccepted: false,
      }),
    ).toBe(true);
    expect((await second.store.redeem(sold, other, 'included')).kind).toBe('lost');

    // The ledger has both of them queued, and gives no lane anything until every process may have said what it told.
    const lane = await second.lane();
    const promotedAt = Date.now();
    expect(await second.lanes.queue.take(lane, 9)).toEqual([]);
    expect(
      await first.store.replayWithdrawal({ ref: acknowledgedClaim, reason: 'settlement_not_sent' }),
    ).toBe(true);
    let taken: readonly string[] = [];
    await eventually('what was not withdrawn is taken', async () => {
      taken = (await second.lanes.queue.take(lane, 9)).map(({ id }) => id);
      return taken.length > 0;
    });
    expect(taken).toEqual([waiting.id]);
    expect(Date.now() - promotedAt).toBeGreaterThan(1000);

    for (const { redis } of [first, second]) redis.disconnect();
    replicaClient.disconnect();
    await gate.stop();
    await Promise.all([primary.stop('SIGKILL'), replica.stop('SIGKILL')]);
  });

  it('a ledger of another version is refused at the start, with a clear message', async () => {
    const own = await LedgerWorld.start();
    await own.redis.set(formatKey(CHAIN_ID), '3');
    const epochs = new LedgerEpochs(new LedgerConnections(own.redis));
    await expect(epochs.start([CHAIN_ID])).rejects.toThrow(/holds a ledger of format 3/);
    await own.redis.flushall();
    await own.redis.hset('x402:lanes', 'lane', 'status');
    await expect(
      new LedgerEpochs(new LedgerConnections(own.redis)).start([CHAIN_ID]),
    ).rejects.toThrow(/format 1/);
    await own.stop();
  });

  it('the reply of a step is swallowed: the same step again says the same', async () => {
    const gate = await RedisGate.start(world.server.port);
    const redis = new Redis(gate.url, { maxRetriesPerRequest: 0, enableAutoPipelining: true });
    redis.on('error', () => undefined);
    await new Promise((resolve) => redis.once('ready', resolve));
    const epochs = new LedgerEpochs(new LedgerConnections(redis));
    const scripts = new LedgerScripts(new LedgerConnections(redis), epochs);
    const store = new RedisSettlementStore(scripts, LIMITS);
    const lanes = redisLanes(scripts, LIMITS);
    await epochs.start([CHAIN_ID]);
    const { REQUESTER_SCRIPTS } =
      await import('../../../src/settlement/ledger/requester-scripts.js');
    const again = async <T>(step: () => Promise<T>): Promise<T> => {
      for (let tries = 0; tries < 100; tries += 1) {
        try {
          return await step();
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
      throw new Error('the ledger does not come back');
    };
    const [requester, made] = [aRequester(), aPayment()];
    const claim = {
      ...made,
      means: { balance: 10n ** 24n, allowance: undefined },
      isAccepted: false,
    };
    gate.swallow(REQUESTER_SCRIPTS.claim);
    const result = await again(() => store.claim(requester, claim));
    if (result.kind !== 'claimed') throw new Error(result.kind);
    const ref = { chainId: CHAIN_ID, id: result.id };
    await world.broadcast(ref, TX);
    await world.include(ref);
    gate.swallow(REQUESTER_SCRIPTS.redeem);
    expect((await again(() => store.redeem(ref, requester, 'included'))).kind).toBe('sold');
    gate.swallow(REQUESTER_SCRIPTS.rollBack);
    await again(() => store.rollBack(ref, made.identity.authorizationId, requester));
    expect((await again(() => store.redeem(ref, requester, 'included'))).kind).toBe('sold');
    const second = await again(() => store.claim(requester, { ...claim, ...aPayment() }));
    if (second.kind !== 'claimed') throw new Error(second.kind);
    gate.swallow(REQUESTER_SCRIPTS.leave);
    const left = await again(() =>
      store.leave({ chainId: CHAIN_ID, id: second.id }, requester, 'timeout', undefined),
    );
    expect(left).toMatchObject({ view: { state: 'withdrawn' } });
    expect(gate.swallowedCount).toBe(4);
    expect(await lanes.endings.parkedCount(CHAIN_ID)).toBe(0);
    redis.disconnect();
    await gate.stop();
  });
});
