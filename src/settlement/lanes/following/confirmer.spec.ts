import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  aLaneWorld,
  CHAIN_ID,
  type LaneWorld,
  recordingObserver,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import { ChainUnavailableError, RedisUnavailableError } from '../../../protocol/errors.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import type { Inclusion, TrackedAttempt } from '../state/tracked-attempt.js';
import { Confirmer, type Look } from './confirmer.js';
import { InclusionRate } from './inclusion-rate.js';

/** What the ledger says of inclusion, beside what the chain shows. */
describe('Confirmer', () => {
  let lane: LaneWorld;
  let confirmer: Confirmer;
  let rate: InclusionRate;
  let reported: string[];
  let learned: (readonly [AcceptedPayment, bigint])[];

  beforeEach(async () => {
    lane = await aLaneWorld();
    const { store, state, chain, clock } = lane;
    rate = new InclusionRate(clock);
    reported = [];
    learned = [];
    confirmer = new Confirmer({
      attempts: store.attempts,
      state,
      reader: chain,
      rate,
      clock,
      fees: chain.fees,
      observer: recordingObserver(reported),
      gasEstimates: {
        typical: 100_000n,
        raise: (payment, gas) => learned.push([payment, gas]),
      },
    });
  });

  const tracked = (accountNonce = 0): TrackedAttempt => {
    const one = lane.state.get(accountNonce);
    if (one === undefined) throw new Error(`nothing at ${accountNonce}`);
    return one;
  };
  const inclusionOf = ({ inclusion }: TrackedAttempt): Inclusion => {
    if (inclusion === undefined) throw new Error('not included');
    return inclusion;
  };
  const states = (...ids: string[]) => ids.map((id) => lane.store.claims.stateOf(id));
  const look = (): Promise<Look> => confirmer.look(lane.lease, lane.chain.head);
  const collect = (): Promise<void> => confirmer.collect(lane.lease, lane.chain.head);

  /** One look, and the word of the second endpoint about it. */
  async function confirmed(): Promise<void> {
    await look();
    await lane.clock.pass(0);
    await collect();
  }

  describe('looks at a block', () => {
    it.each<[string, number, readonly number[], readonly number[]]>([
      ['that has none of them: all wait', 0, [], [0, 1, 2]],
      ['whose node counts one: its transaction is missing', 1, [0], [1, 2]],
      ['whose node counts more than there are: all are missing', 9, [0, 1, 2], []],
    ])('%s', async (_, used, missing, waiting) => {
      for (const id of ['a', 'b', 'c']) await lane.send(id);
      lane.chain.used = used;
      const seen = await look();
      const nonces = (all: readonly TrackedAttempt[]) => all.map((one) => one.accountNonce);
      expect([nonces(seen.missing), nonces(seen.waiting)]).toEqual([missing, waiting]);
    });

    it('and counts what is mined, however little a node says', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await confirmed();
      lane.chain.used = 0;
      expect((await look()).usedNonces).toBe(1);
    });

    it('and asks no node for receipts while nothing is on its way', async () => {
      lane.chain.looks = 0;
      expect(await look()).toEqual({ usedNonces: 0, missing: [], waiting: [] });
      expect(lane.chain.looks).toBe(0);
    });
  });

  describe('what a second endpoint has, too,', () => {
    it('is written with its block, for each that it pays', async () => {
      await lane.send('a', 'b');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await confirmed();
      expect(states('a', 'b')).toEqual(['included', 'broadcast']);
      const { transaction, blockHash } = inclusionOf(tracked());
      expect(lane.store.claims.get('a')?.inclusion).toEqual({
        transaction,
        blockHash,
        blockNumber: lane.chain.latest,
        logIndex: 0,
      });
      expect(tracked().finalBlock).toBeUndefined();
      expect(reported).toEqual(['included:0']);
    });

    it('shows the tip that a block took', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await look();
      expect(lane.chain.minedTips).toEqual([]);
      await confirmed();
      expect(lane.chain.minedTips).toEqual([lane.newest(0).maxPriorityFeePerGas]);
    });

    it('is written once, however often it is seen', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await confirmed();
      const seen = { view: lane.chain.head.view, inclusion: inclusionOf(tracked()) };
      confirmer.found(tracked(), seen);
      await lane.clock.pass(0);
      await collect();
      expect(reported).toEqual(['included:0']);
    });

    it('is not written for a lane that was reopened meanwhile', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await look();
      await lane.clock.pass(0);
      await lane.open();
      await collect();
      expect([states('a'), tracked().inclusion]).toEqual([['broadcast'], undefined]);
    });

    it('is forgotten with all else when the lane is reopened', async () => {
      lane.chain.confirms = false;
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await confirmed();
      expect(confirmer.isInDoubt).toBe(true);
      await look();
      confirmer.reset();
      await lane.clock.pass(0);
      await collect();
      expect([confirmer.isInDoubt, states('a')]).toEqual([false, ['broadcast']]);
    });

    it('is looked for again when the ledger did not take it', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      const { include } = lane.store.attempts;
      lane.store.attempts.include = () =>
        Promise.reject(new RedisUnavailableError('include', undefined));
      await expect(confirmed()).rejects.toThrow(RedisUnavailableError);
      expect(tracked().inclusion).toBeUndefined();
      lane.store.attempts.include = include;
      await confirmed();
      expect(states('a')).toEqual(['included']);
    });
  });

  describe('what no second endpoint has', () => {
    const away = (): Promise<undefined> =>
      Promise.reject(new ChainUnavailableError(CHAIN_ID, 'a receipt'));

    it.each<[string, () => Promise<Inclusion | undefined>, number]>([
      ['since it says otherwise', () => Promise.resolve(undefined), 0],
      ['since it does not answer', away, 0],
      ['since it takes too long', () => new Promise(() => undefined), 5000],
    ])('is not written (%s), and looked at again in a moment, once', async (_, answer, afterMs) => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      lane.chain.confirm = answer;
      await look();
      await lane.clock.pass(0);
      await lane.clock.pass(afterMs);
      await collect();
      expect([states('a'), reported, confirmer.takeDoubt()]).toEqual([['broadcast'], [], false]);
      await lane.clock.pass(249);
      expect(confirmer.takeDoubt()).toBe(false);
      await lane.clock.pass(1);
      expect([confirmer.takeDoubt(), confirmer.takeDoubt()]).toEqual([true, false]);
    });

    it('after an unexpected error is no doubt: the error is thrown', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      lane.chain.confirm = () => Promise.reject(new TypeError('a fault'));
      await expect(confirmed()).rejects.toThrow(TypeError);
    });

    it('does not keep another one that it has', async () => {
      await lane.send('a');
      await lane.send('b');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      lane.chain.mine(lane.newest(1), { pays: ['b'] });
      const liar = lane.newest(0).hash;
      lane.chain.confirm = (_, __, inclusion) =>
        Promise.resolve(inclusion.transaction === liar ? undefined : inclusion);
      await confirmed();
      expect(states('a', 'b')).toEqual(['broadcast', 'included']);
      expect(confirmer.isInDoubt).toBe(true);
    });
  });

  describe('learns', () => {
    it.each<[string, readonly string[], boolean, boolean, number]>([
      ['the gas of one that paid', ['a'], true, false, 1],
      ['nothing of one that failed', ['a'], false, false, 0],
      ['nothing of several together', ['a', 'b'], true, false, 0],
      ['nothing of a no-op in its place', ['a'], true, true, 0],
    ])('%s', async (_, ids, isSuccess, isCancelled, count) => {
      await lane.send(...ids);
      const own = lane.newest(0);
      if (isCancelled) {
        const { attempt } = tracked();
        tracked().attempt = { ...attempt, transactions: [{ ...own, isNoop: true }] };
      }
      lane.chain.mine(own, { pays: isSuccess && !isCancelled ? ids : [], isSuccess });
      await confirmed();
      expect(learned.map(([, gas]) => gas)).toEqual(Array.from({ length: count }, () => 50_000n));
    });

    it.each<[string, bigint, bigint, number]>([
      ['soon: more may be on their way at once', 0n, 1n, 17],
      ['late: no more than before', 0n, 2n, 16],
      ['soon after the newest block of any endpoint, though another one was behind', 2n, 1n, 17],
    ])('what a block took %s', async (_, behind, blocks, size) => {
      lane.chain.behind = behind;
      await lane.send('a');
      lane.chain.latest += blocks;
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await confirmed();
      expect(lane.state.windowSize).toBe(size);
    });

    it('how long it takes from the first send', async () => {
      await lane.send('a');
      await lane.clock.pass(900);
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await confirmed();
      expect(rate.inclusionMs).toBe(900);
    });
  });

  describe('a block that was taken back', () => {
    beforeEach(async () => {
      await lane.send('a', 'b');
      lane.chain.mine(lane.newest(0), { pays: ['a', 'b'] });
      await confirmed();
      expect(states('a', 'b')).toEqual(['included', 'included']);
      reported.length = 0;
    });

    it('takes back what the ledger says, and the bytes go out again at once', async () => {
      lane.chain.replaceFrom(lane.chain.latest);
      await look();
      expect(states('a', 'b')).toEqual(['broadcast', 'broadcast']);
      expect(tracked()).toMatchObject({
        inclusion: undefined,
        sentAtBlock: 0n,
        pricedAtBlock: lane.chain.latest,
      });
      expect([reported, tracked().stored.size]).toEqual([['reorged'], 0]);
    });

    it('and holds it again in its place: it is written with the new block', async () => {
      const before = tracked().inclusion?.blockHash;
      const own = lane.newest(0);
      lane.chain.replaceFrom(lane.chain.latest);
      lane.chain.mine(own, { pays: ['b'] });
      await look();
      await confirmed();
      expect(states('a', 'b')).toEqual(['broadcast', 'included']);
      expect(lane.store.claims.get('b')?.inclusion?.blockHash).not.toBe(before);
    });

    it('and was written by a former writer of the lane: it is taken back all the same', async () => {
      lane.chain.replaceFrom(lane.chain.latest);
      await lane.open();
      expect([tracked().inclusion, tracked().stored.size]).toEqual([undefined, 2]);
      await look();
      expect(states('a', 'b')).toEqual(['broadcast', 'broadcast']);
    });

    it('is taken back in the next look when the ledger does not answer in this one', async () => {
      lane.chain.replaceFrom(lane.chain.latest);
      const { uninclude } = lane.store.attempts;
      lane.store.attempts.uninclude = () =>
        Promise.reject(new RedisUnavailableError('uninclude', undefined));
      await expect(look()).rejects.toThrow(RedisUnavailableError);
      expect(tracked().inclusion).toBeDefined();
      lane.store.attempts.uninclude = uninclude;
      await look();
      expect([states('a', 'b'), reported]).toEqual([['broadcast', 'broadcast'], ['reorged']]);
    });

    it('is not, while it is part of the chain', async () => {
      lane.chain.mine();
      await look();
      expect([states('a', 'b'), reported]).toEqual([['included', 'included'], []]);
    });

    it('is neither kept nor taken back while no second endpoint says so: it is looked at again soon', async () => {
      lane.chain.replaceFrom(lane.chain.latest);
      lane.chain.hidesReplacements = true;
      await look();
      expect([states('a', 'b'), reported]).toEqual([['included', 'included'], []]);
      await lane.clock.pass(250);
      expect(confirmer.takeDoubt()).toBe(true);
    });

    it('is not told while no endpoint answers: nothing is concluded', async () => {
      lane.chain.replaceFrom(lane.chain.latest);
      lane.chain.replacedBlocks = () =>
        Promise.reject(new ChainUnavailableError(CHAIN_ID, 'a block'));
      await expect(look()).rejects.toThrow(ChainUnavailableError);
      expect(states('a', 'b')).toEqual(['included', 'included']);
    });
  });

  it('asks in turns whether the older ones of many blocks are there, where none becomes final', async () => {
    const hashes = new Set<string>();
    for (let count = 0; count < 200; count += 1) {
      await lane.send(`s${count}`);
      lane.chain.mine(lane.newest(count), { pays: [`s${count}`] });
      hashes.add(lane.chain.blockHash(lane.chain.latest));
      await confirmed();
    }
    const { replacedBlocks } = lane.chain;
    const asked: string[][] = [];
    lane.chain.replacedBlocks = (head, blocks) => {
      asked.push(blocks.map(({ hash }) => hash));
      return replacedBlocks.call(lane.chain, head, blocks);
    };
    for (let count = 0; count < 9; count += 1) await confirmed();
    expect(Math.max(...asked.map((blocks) => blocks.length))).toBeLessThanOrEqual(80);
    const newest = [...hashes].slice(-64);
    for (const blocks of asked) expect(blocks).toEqual(expect.arrayContaining(newest));
    expect(new Set(asked.flat())).toEqual(hashes);
  });

  describe('a confirmation that comes late', () => {
    it.each<[string, (one: LaneWorld) => void, string]>([
      [
        'at the next block',
        (one) => {
          one.chain.mine();
        },
        'included',
      ],
      [
        'after its block was replaced',
        (one) => {
          one.chain.replaceFrom(one.chain.latest);
        },
        'broadcast',
      ],
      [
        'after one endpoint has shown another block in its place',
        (one) => {
          one.chain.replaceFrom(one.chain.latest);
          one.chain.hidesReplacements = true;
        },
        'broadcast',
      ],
    ])('%s counts by what the head of now shows', async (_, meanwhile, state) => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await look();
      await lane.clock.pass(0);
      meanwhile(lane);
      await collect();
      expect(states('a')).toEqual([state]);
    });

    it('is not written while the head of now cannot be asked', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await look();
      await lane.clock.pass(0);
      lane.chain.mine();
      lane.chain.replacedBlocks = () =>
        Promise.reject(new ChainUnavailableError(CHAIN_ID, 'a block'));
      await collect();
      expect([states('a'), confirmer.isInDoubt]).toEqual([['broadcast'], true]);
    });
  });

  describe('a block that may be final', () => {
    beforeEach(async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await confirmed();
    });

    const asked = async (): Promise<void> => {
      confirmer.askFinal(lane.chain.head);
      await lane.clock.pass(0);
      await collect();
    };

    it('is asked for once a final block is not below it, and is final when it is still there', async () => {
      await asked();
      expect(tracked().finalBlock).toBeUndefined();
      lane.chain.finalize();
      await asked();
      expect(tracked().finalBlock).toBe(tracked().inclusion?.blockHash);
    });

    it.each<['unknown' | 'replaced']>([['unknown'], ['replaced']])(
      'is not final when it is %s, and is asked for again in a moment',
      async (standing) => {
        lane.chain.finalize();
        lane.chain.standing = standing;
        await asked();
        lane.chain.standing = 'there';
        await asked();
        expect([tracked().finalBlock, confirmer.isInDoubt]).toEqual([undefined, true]);
        await lane.clock.pass(250);
        await asked();
        expect(tracked().finalBlock).toBe(tracked().inclusion?.blockHash);
      },
    );

    it('is not final by an answer about a lane that was reopened', async () => {
      lane.chain.finalize();
      confirmer.askFinal(lane.chain.head);
      confirmer.reset();
      await lane.clock.pass(0);
      await collect();
      expect(tracked().finalBlock).toBeUndefined();
    });
  });

  it('forgets an attempt that no block has', async () => {
    await lane.send('a');
    lane.chain.mine(lane.newest(0), { pays: ['a'] });
    await confirmed();
    await confirmer.forget(lane.lease, tracked());
    expect([states('a'), tracked().inclusion]).toEqual([['broadcast'], undefined]);
  });
});
