import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import {
  aLaneWorld,
  aPayment,
  CHAIN_ID,
  type LaneWorld,
  recordingObserver,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import type { Head } from '../../../platform/chain/head-watcher.js';
import { ChainUnavailableError, RedisUnavailableError } from '../../../protocol/errors.js';
import type { Authorization } from '../../../protocol/evm/authorization.js';
import { assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import type { ChannelConfig } from '../../../protocol/schemes/batch-settlement/channel.js';
import type { ClaimBatch } from '../../../protocol/schemes/batch-settlement/claim-batch.js';
import { BATCH_SETTLEMENT } from '../../../protocol/schemes/batch-settlement/claims.js';
import type { Payout } from '../../../protocol/schemes/batch-settlement/payout.js';
import type { Refund } from '../../../protocol/schemes/batch-settlement/refund.js';
import type { Ending, TakenSettlement } from '../../ledger/lane-store.js';
import type { OutcomeVerdict } from '../ports.js';
import type { TrackedAttempt } from '../state/tracked-attempt.js';
import { Outcomes } from './outcomes.js';
import { UnresolvedUses } from './unresolved-uses.js';

const USED = 'invalid_exact_evm_nonce_already_used';
const VICTIM: Address = `0x${'a7'.repeat(20)}`;
const TOKEN: Address = `0x${'70'.repeat(20)}`;
const AUTHORIZER: Address = `0x${'b1'.repeat(20)}`;
const SHARED = {
  scheme: BATCH_SETTLEMENT,
  from: VICTIM,
  signature: '0x',
  chainId: CHAIN_ID,
} as const;
const CHANNEL: ChannelConfig = {
  payer: VICTIM,
  payerAuthorizer: VICTIM,
  receiver: VICTIM,
  receiverAuthorizer: AUTHORIZER,
  token: TOKEN,
  withdrawDelay: 900,
  salt: `0x${'5a'.repeat(32)}`,
};
const PAYOUT: Payout = { ...SHARED, method: 'channel-settle', token: TOKEN, upTo: 1n };
const CLAIM: ClaimBatch = {
  ...SHARED,
  method: 'channel-claim',
  rows: [{ config: CHANNEL, maxClaimable: 1n, totalClaimed: 1n, signature: '0x' }],
};
const REFUND: Refund = {
  ...SHARED,
  method: 'channel-refund',
  config: CHANNEL,
  channelId: `0x${'c1'.repeat(32)}`,
  amount: 1n,
  refundNonce: 0n,
  rows: [],
  claimSignature: undefined,
};
const DEADLINE = 2_000_000_000;
const ended = (id: string, more: Partial<Ending> = {}): OutcomeVerdict => ({
  kind: 'ended',
  ending: { id, state: 'reverted', isPaid: false, ...more },
});

/** The endings that are written when a block is final, and the questions before. */
describe('Outcomes', () => {
  let lane: LaneWorld;
  let outcomes: Outcomes;
  let unresolved: UnresolvedUses;
  let observed: string[];
  let finished: string[];
  let reverts: string[];
  let suspected: string[];
  let costs: (readonly [number, bigint])[];

  beforeEach(async () => {
    lane = await aLaneWorld();
    const { store, state, chain, clock } = lane;
    unresolved = new UnresolvedUses();
    [observed, finished, reverts, suspected, costs] = [[], [], [], [], []];
    const { queue, attempts, endings } = store;
    const { closeAttempt } = attempts;
    attempts.closeAttempt = (held, accountNonce, costWei) => {
      costs.push([accountNonce, costWei]);
      return closeAttempt.call(attempts, held, accountNonce, costWei);
    };
    outcomes = new Outcomes({
      chain,
      queue,
      attempts,
      endings,
      state,
      resolver: chain,
      unresolved,
      clock,
      observer: recordingObserver(observed),
      suspensions: { noteRevert: (asset) => reverts.push(asset), isSuspended: () => false },
      assetSuspensions: { suspended: [], noteWithoutEvidence: (asset) => suspected.push(asset) },
      events: { finished: (ids) => finished.push(...ids), conditionChanged: () => undefined },
    });
  });

  const tracked = (accountNonce = 0): TrackedAttempt => {
    const one = lane.state.get(accountNonce);
    if (one === undefined) throw new Error(`nothing at ${accountNonce}`);
    return one;
  };
  const states = (...ids: string[]) => ids.map((id) => lane.store.claims.stateOf(id));
  const stages = (...ids: string[]) => ids.map((id) => lane.store.claims.stageOf(id));
  const finalize = (head: Head = lane.chain.head) => outcomes.finalize(lane.lease, head);
  const collect = () => outcomes.collect(lane.lease, lane.chain.head);

  /** Mined and confirmed, with these paid. */
  async function mined(pays: readonly string[], isSuccess = true): Promise<void> {
    lane.chain.mine(lane.newest(0), { pays, isSuccess });
    await lane.follow();
  }

  /** Its block is final now; nothing else has changed. */
  const final = (): void => {
    lane.chain.finalized = lane.chain.latest;
    for (const one of lane.state.mined) one.finalBlock = one.inclusion?.blockHash;
  };

  /** Asks, and writes what the answer is. */
  async function result(): Promise<void> {
    await finalize();
    await lane.clock.pass(0);
    await collect();
  }

  /** As long as an outcome stays unknown before it is parked. */
  async function threeRounds(): Promise<void> {
    for (let round = 0; round < 3; round += 1) {
      lane.chain.mine();
      final();
      await finalize();
      await lane.clock.pass(0);
      await lane.clock.pass(2000);
      await collect();
      await lane.clock.pass(1000);
    }
  }

  it.each<[string, boolean, readonly string[]]>([
    ['reverted', false, []],
    ['succeeded without paying', true, [assetNameOf(aPayment(1))]],
  ])('parks one whose own transaction %s with that, and blames it', async (...given) => {
    const [, isSuccess, accused] = given;
    await lane.send('a');
    lane.chain.verdicts.set('a', 'hangs');
    await mined([], isSuccess);
    const { hash: transaction } = lane.newest(0);
    await threeRounds();
    const { stage, failed } = lane.store.claims.get('a') ?? {};
    expect([stage, failed]).toMatchObject(['parked', { transaction, isSuccess }]);
    expect([[...lane.store.reverts.values()], suspected]).toEqual([[1], accused]);
  });

  it.each<[string, OutcomeVerdict | 'fails']>([
    ['no search finds the use', { kind: 'waiting' }],
    ['no endpoint answers', 'fails'],
  ])(
    'blames no payer yet where the transaction failed and %s: a copy may have paid',
    async (...given) => {
      const [, verdict] = given;
      await lane.send('a');
      lane.chain.verdicts.set('a', verdict);
      await mined([], true);
      await threeRounds();
      expect(lane.store.claims.get('a')).toMatchObject({ why: 'search_failed', failed: {} });
      expect([[...lane.store.reverts], suspected]).toEqual([[], []]);
    },
  );

  describe('parks what a stranger has used with the newest block that was known when it was sent', () => {
    /** The newest block that one endpoint had shown, and the one that two had. */
    const [NEWEST, AGREED] = [100n, 98n];
    const sinceBlock = () => lane.store.claims.get('a')?.sinceBlock;

    beforeEach(async () => {
      lane.chain.behind = NEWEST - AGREED;
      await lane.send('a');
      expect(tracked().attempt).toMatchObject({
        allocatedAtBlock: AGREED,
        newestBlock: { number: NEWEST },
      });
    });

    it.each<[string, OutcomeVerdict | 'fails' | 'hangs']>([
      ['no search finds the use', { kind: 'waiting' }],
      ['no endpoint answers', 'fails'],
      ['the question takes too long', 'hangs'],
      ['its token hides the state', { kind: 'waiting', why: 'state_unreadable' }],
    ])('that the chain was not asked about yet: %s', async (_, verdict) => {
      lane.chain.verdicts.set('a', verdict);
      await mined([], true);
      await threeRounds();
      expect(stages('a')).toEqual(['parked']);
      expect(sinceBlock()).toBe(NEWEST);
    });

    it.each([NEWEST, AGREED])('that the chain has shown before: %s', async (proven) => {
      lane.chain.verdicts.set('a', 'fails');
      await mined([], true);
      tracked().provenSince = proven;
      await threeRounds();
      expect(sinceBlock()).toBe(proven);
    });
  });

  it('blames all suspects of a claim no earlier than its culprits can be seen: no token hides the state of the escrow', async () => {
    lane.store.claims.claim('p', aPayment(1, { authorization: CLAIM }));
    await lane.store.queue.ready(CHAIN_ID, ['p']);
    await lane.sending.sendReady(lane.lease, () => true);
    lane.chain.verdicts.set('p', 'hangs');
    await mined([], false);
    await threeRounds();
    expect(lane.store.claims.get('p')).toMatchObject({ why: 'state_unreadable', failed: {} });
    expect([...lane.store.reverts]).toEqual([]);
  });

  describe('a final block that pays all', () => {
    beforeEach(async () => {
      await lane.send('a', 'b');
      await mined(['a', 'b']);
    });

    it('ends them with their place in it, and closes the nonce for what it has cost', async () => {
      final();
      await finalize();
      expect(states('a', 'b')).toEqual(['finalized', 'finalized']);
      expect(lane.store.claims.endingOf('b').ending).toEqual({
        id: 'b',
        state: 'finalized',
        isPaid: true,
        logIndex: 1,
      });
      expect([finished, observed, costs]).toEqual([
        ['a', 'b'],
        ['ended'],
        [[0, 50_000n * 10n ** 9n]],
      ]);
      expect([lane.state.hasAttempts, lane.chain.asked]).toEqual([false, []]);
    });

    it.each<[string, (head: Head) => Head]>([
      ['that no node calls final', (head) => ({ ...head, finalized: undefined })],
      ['above the newest final one', (head) => head],
      [
        'that no two endpoints have shown to be part of the final chain',
        (head) => ({ ...head, finalized: head.latest }),
      ],
    ])('is waited for while it is one %s', async (_, change) => {
      await finalize(change(lane.chain.head));
      expect([states('a', 'b'), finished]).toEqual([['included', 'included'], []]);
      expect(lane.state.hasAttempts).toBe(true);
    });

    it('is written in the next turn when the ledger does not answer in this one', async () => {
      final();
      const { finish } = lane.store.endings;
      lane.store.endings.finish = () =>
        Promise.reject(new RedisUnavailableError('finish', undefined));
      await expect(finalize()).rejects.toThrow(RedisUnavailableError);
      expect([tracked().payments.size, finished]).toEqual([2, []]);
      lane.store.endings.finish = finish;
      await finalize();
      expect([states('a', 'b'), finished]).toEqual([
        ['finalized', 'finalized'],
        ['a', 'b'],
      ]);
    });
  });

  describe('one that a final block does not pay', () => {
    const unpaid = (more: Partial<Ending> = {}) => ended('b', more);

    beforeEach(async () => {
      await lane.send('a', 'b');
    });

    it.each<[string, OutcomeVerdict, string, string]>([
      ['has failed', unpaid(), 'reverted', 'b'],
      ['has expired', unpaid({ state: 'expired' }), 'expired', 'b'],
      ['was presented elsewhere', unpaid({ state: 'foreign', reason: USED }), 'foreign', 'b'],
      ['was paid by a copy', unpaid({ state: 'foreign', isPaid: true }), 'foreign', 'b'],
      ['is unused and goes again', { kind: 'requeue' }, 'queued', ''],
    ])('%s', async (_, verdict, state, observed) => {
      lane.chain.verdicts.set('b', verdict);
      await mined(['a']);
      final();
      await result();
      expect(states('a', 'b')).toEqual(['finalized', state]);
      expect(finished).toEqual(['a', ...(observed === '' ? [] : [observed])]);
      expect([lane.chain.asked, lane.state.hasAttempts]).toEqual([['b'], false]);
    });

    it('finds no log free that pays for another of its batch', async () => {
      lane.chain.verdicts.set('b', { kind: 'searching' });
      await mined(['a']);
      final();
      await result();
      const { hash } = lane.newest(0);
      const credit = (log: number) => lane.store.endings.credit(CHAIN_ID, hash, log, 'b');
      expect([await credit(0), await credit(1)]).toEqual([false, true]);
    });

    it('goes again alone, since it was not paid in company', async () => {
      await mined(['a']);
      final();
      await result();
      const [again] = await lane.store.queue.take(lane.lease, 1);
      expect(again).toMatchObject({ id: 'b', goesAlone: true, sentBefore: { sinceBlock: 100n } });
    });

    it('and its success was acknowledged: it is resubmitted, and no request gets a failure', async () => {
      await mined(['a']);
      lane.store.claims.tell('b');
      lane.chain.verdicts.set('b', unpaid());
      final();
      await result();
      expect([states('b'), finished, observed.slice(-1)]).toEqual([
        ['queued'],
        ['a'],
        ['resubmitted'],
      ]);
    });

    it('is held against its payer when it failed, and against no payer when it expired', async () => {
      lane.chain.verdicts.set('a', ended('a', { state: 'expired' }));
      lane.chain.verdicts.set('b', unpaid());
      await mined([], false);
      final();
      await result();
      const payer = aPayment(1).authorization.from;
      expect([...lane.store.reverts]).toEqual([[payer, 1]]);
    });

    it.each<[string, boolean, readonly string[]]>([
      ['succeeded: the asset takes any call', true, [assetNameOf(aPayment(1))]],
      ['failed: that costs a hostile asset nothing of its name', false, []],
    ])('is held against the asset when its transaction %s', async (_, isSuccess, expected) => {
      lane.chain.verdicts.set('b', unpaid());
      await mined(isSuccess ? ['a'] : [], isSuccess);
      final();
      await result();
      expect(suspected).toEqual(expected);
    });

    it('is held against its asset once, also when the ledger does not answer at first', async () => {
      lane.chain.verdicts.set('b', unpaid());
      await mined(['a'], true);
      final();
      const { finish } = lane.store.endings;
      let refusals = 1;
      lane.store.endings.finish = (held, accountNonce, endings) =>
        endings.some(({ id }) => id === 'b') && refusals-- > 0
          ? Promise.reject(new RedisUnavailableError('finish', undefined))
          : finish.call(lane.store.endings, held, accountNonce, endings);
      await expect(result()).rejects.toThrow(RedisUnavailableError);
      await lane.clock.pass(1000);
      await result();
      expect([states('b'), suspected]).toEqual([['reverted'], [assetNameOf(aPayment(1))]]);
    });

    it('keeps the nonce open while its outcome is unknown', async () => {
      lane.chain.verdicts.set('b', { kind: 'searching' });
      await mined(['a']);
      final();
      await result();
      expect([states('a', 'b'), costs]).toEqual([['finalized', 'broadcast'], []]);
      expect([...tracked().payments.keys()]).toEqual(['b']);
    });

    it.each<[string, OutcomeVerdict | 'hangs' | 'fails', string]>([
      ['no search finds the use', { kind: 'waiting' }, 'search_failed'],
      ['no endpoint answers', 'fails', 'search_failed'],
      ['its token does not answer', 'hangs', 'state_unreadable'],
    ])('is parked after three blocks when %s, and the lane goes on', async (_, verdict, why) => {
      lane.chain.verdicts.set('b', verdict);
      await mined(['a']);
      await threeRounds();
      expect([stages('b'), lane.state.hasAttempts]).toEqual([['parked'], false]);
      expect(lane.store.claims.get('b')).toMatchObject({ why, sinceBlock: 100n });
      expect([observed.includes('parked'), finished]).toEqual([true, ['a', 'b']]);
      // Not before a quarter of a minute is over.
      expect(await lane.store.endings.dueParked(CHAIN_ID, 10)).toEqual([]);
      await lane.clock.pass(15_000);
      expect(await lane.store.endings.dueParked(CHAIN_ID, 10)).toHaveLength(1);
    });

    it('is parked without a failed transaction: a batch decides nothing about it', async () => {
      lane.chain.verdicts.set('b', { kind: 'waiting' });
      await mined(['a']);
      await threeRounds();
      expect(lane.store.claims.get('b')).toMatchObject({ stage: 'parked', failed: undefined });
      expect([...lane.store.reverts]).toEqual([]);
    });

    it('meets an unexpected error: it is reported, and tried again', async () => {
      lane.chain.resolve = () => Promise.reject(new TypeError('a fault'));
      await mined(['a']);
      final();
      await result();
      expect([observed.includes('failed'), states('b')]).toEqual([true, ['broadcast']]);
    });
  });

  it.each<[string, Authorization, string]>([
    ['a payout: against its token', PAYOUT, `payout:${TOKEN}`],
    ['a claim: against its authorizer', CLAIM, AUTHORIZER],
    ['a refund: against its authorizer', REFUND, AUTHORIZER],
  ])('holds a revert against no account that has not signed for it: %s', async (...given) => {
    const [, authorization, blamed] = given;
    lane.store.claims.claim('p', aPayment(1, { authorization }));
    await lane.store.queue.ready(CHAIN_ID, ['p']);
    await lane.sending.sendReady(lane.lease, () => true);
    lane.chain.verdicts.set('p', ended('p'));
    await mined([], false);
    final();
    await result();
    expect([states('p'), [...lane.store.reverts.keys()]]).toEqual([['reverted'], [blamed]]);
  });

  it('holds a revert against whom the chain shows to be its cause', async () => {
    lane.store.claims.claim('p', aPayment(1, { authorization: CLAIM }));
    await lane.store.queue.ready(CHAIN_ID, ['p']);
    await lane.sending.sendReady(lane.lease, () => true);
    lane.chain.verdicts.set('p', ended('p', { blamed: ['a payer'] }));
    await mined([], false);
    final();
    await result();
    expect([...lane.store.reverts.keys()]).toEqual(['a payer']);
  });

  it('holds no success without effect against the token where the state of the escrow is the evidence', async () => {
    lane.store.claims.claim('p', aPayment(1, { authorization: PAYOUT }));
    await lane.store.queue.ready(CHAIN_ID, ['p']);
    await lane.sending.sendReady(lane.lease, () => true);
    lane.chain.verdicts.set('p', ended('p'));
    await mined([], true);
    final();
    await result();
    expect([states('p'), suspected]).toEqual([['reverted'], []]);
  });

  describe('what is answered too late', () => {
    beforeEach(async () => {
      await lane.send('a');
      lane.chain.verdicts.set('a', ended('a'));
      await mined([], false);
      final();
      await finalize();
      await lane.clock.pass(0);
    });

    it('ends nothing once its block was taken back', async () => {
      tracked().inclusion = undefined;
      await collect();
      expect([states('a'), finished]).toEqual([['broadcast'], []]);
    });

    it('ends nothing of a lane that was reopened', async () => {
      await lane.open();
      await collect();
      expect([states('a'), finished]).toEqual([['broadcast'], []]);
    });

    it('is dropped after a reset', async () => {
      outcomes.reset();
      await collect();
      expect(finished).toEqual([]);
      await result();
      expect(states('a')).toEqual(['reverted']);
    });
  });

  describe('a batch that reverted', () => {
    it.each<[string, readonly string[], boolean, number]>([
      ['is held against its assets, each once', ['a', 'b'], false, 1],
      ['counts none where one of it was paid', ['a', 'b'], true, 0],
      ['counts none of a single one', ['a'], false, 0],
    ])('%s', async (_, ids, isSuccess, expected) => {
      await lane.send(...ids);
      await mined(isSuccess ? ['a'] : [], isSuccess);
      final();
      await result();
      expect(reverts).toHaveLength(expected);
      expect(observed.filter((one) => one.startsWith('batchReverted'))).toHaveLength(expected);
    });
  });

  it('closes a no-op at once: it carries nothing', async () => {
    await lane.store.leases.setNext(lane.lease, 0, 1);
    lane.state.next = 1;
    await lane.open();
    await mined([]);
    final();
    await finalize();
    expect([lane.state.hasAttempts, costs.length, finished]).toEqual([false, 1, []]);
  });

  describe('one whose deadline is over while its attempt is on its way', () => {
    const expire = () => {
      outcomes.expire([tracked()], lane.chain.head);
    };

    beforeEach(async () => {
      await lane.send('a');
      lane.chain.verdicts.set('a', ended('a', { state: 'expired' }));
    });

    it.each<[string, number, readonly string[]]>([
      ['is not asked for a second before it', DEADLINE - 1, []],
      ['is asked for from that second on', DEADLINE, ['a']],
    ])('%s', async (_, timestamp, asked) => {
      lane.chain.timestamp = timestamp;
      expire();
      await lane.clock.pass(0);
      expect(lane.chain.asked).toEqual(asked);
    });

    it('ends, and its nonce stays in flight: its bytes may still be mined', async () => {
      lane.chain.timestamp = DEADLINE;
      expire();
      await lane.clock.pass(0);
      await collect();
      expect([states('a'), finished]).toEqual([['expired'], ['a']]);
      expect([tracked().payments.size, costs]).toEqual([0, []]);
    });

    it('is asked for as long as it takes: what may land is never parked', async () => {
      lane.chain.timestamp = DEADLINE;
      lane.chain.verdicts.set('a', 'fails');
      for (let round = 0; round < 6; round += 1) {
        lane.chain.mine();
        expire();
        await lane.clock.pass(0);
        await collect();
        await lane.clock.pass(1000);
      }
      expect([stages('a'), lane.chain.asked.length]).toEqual([['attempt'], 6]);
    });

    it('is not asked for by what no node calls final', async () => {
      lane.chain.timestamp = DEADLINE;
      outcomes.expire([tracked()], { ...lane.chain.head, finalized: undefined });
      await lane.clock.pass(0);
      expect(lane.chain.asked).toEqual([]);
    });
  });

  describe('one that was found used when it should have been sent', () => {
    async function found(sentBefore?: TakenSettlement['sentBefore']): Promise<void> {
      await lane.claim('a');
      const [taken] = await lane.store.queue.take(lane.lease, 1);
      if (taken === undefined) throw new Error('nothing is ready');
      expect(unresolved.holds({ ...taken, ...(sentBefore && { sentBefore }) }, USED, 85n)).toBe(
        true,
      );
    }

    async function followed(): Promise<void> {
      outcomes.followUses(lane.chain.head);
      await lane.clock.pass(0);
      await collect();
    }

    it.each<[string, OutcomeVerdict, string, string | undefined]>([
      [
        'and never sent: it was presented elsewhere, and is refused',
        ended('a', { state: 'foreign', reason: USED }),
        'withdrawn',
        USED,
      ],
      [
        'by a copy of the attempt',
        ended('a', { state: 'foreign', isPaid: true }),
        'foreign',
        undefined,
      ],
    ])('%s', async (_, verdict, state, reason) => {
      await found();
      lane.chain.verdicts.set('a', verdict);
      await followed();
      expect([states('a'), finished, unresolved.size]).toEqual([[state], ['a'], 0]);
      expect(lane.store.claims.endingOf('a').reason).toBe(reason);
    });

    it('and sent before: it ends, it is not refused', async () => {
      await found({ sinceBlock: 80n, hashes: [] });
      lane.chain.verdicts.set('a', ended('a', { state: 'foreign', reason: USED }));
      await followed();
      expect([states('a'), unresolved.size]).toEqual([['foreign'], 0]);
    });

    it('in a block that is gone: it is ready again', async () => {
      await found();
      await followed();
      expect([stages('a'), unresolved.size, finished]).toEqual([['ready'], 0, []]);
    });

    it('is not released by a block before the one that showed it used', async () => {
      await found();
      lane.chain.finalized = 85n;
      await followed();
      expect([stages('a'), unresolved.size]).toEqual([['work'], 1]);
      lane.chain.finalized = 86n;
      await lane.clock.pass(500);
      await followed();
      expect(stages('a')).toEqual(['ready']);
    });

    it('by an unknown transaction: it is parked after three blocks', async () => {
      await found();
      lane.chain.resolveAgain = () => Promise.reject(new ChainUnavailableError(CHAIN_ID, 'logs'));
      for (let round = 0; round < 3; round += 1) {
        lane.chain.mine();
        await followed();
        await lane.clock.pass(1000);
      }
      expect([stages('a'), unresolved.size, finished]).toEqual([['parked'], 0, ['a']]);
      expect(lane.store.claims.get('a')).toMatchObject({ why: 'search_failed', sinceBlock: 85n });
    });
  });
});
