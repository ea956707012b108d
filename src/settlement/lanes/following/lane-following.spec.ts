import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  aLaneWorld,
  CHAIN_ID,
  GWEI,
  LANE,
  type LaneWorld,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import type { SeenInclusion } from '../ports.js';

const SEEN: SeenInclusion = {
  view: {} as never,
  inclusion: {
    transaction: '0xee',
    blockNumber: 101n,
    blockHash: '0x65',
    isSuccess: true,
    gasUsed: 1n,
    effectiveGasPrice: 1n,
    credited: new Map(),
  },
};

/** What a lane does with what it has sent, head by head. */
describe('a lane that follows', () => {
  let lane: LaneWorld;

  beforeEach(async () => {
    lane = await aLaneWorld();
  });

  const states = (...ids: string[]) => ids.map((id) => lane.store.claims.stateOf(id));

  it('brings what a block pays to its end when the block is final', async () => {
    await lane.send('a', 'b');
    expect(states('a', 'b')).toEqual(['broadcast', 'broadcast']);
    lane.chain.mine(lane.newest(0), { pays: ['a', 'b'] });
    await lane.follow();
    expect(states('a', 'b')).toEqual(['included', 'included']);
    lane.chain.finalize();
    await lane.follow();
    expect(states('a', 'b')).toEqual(['finalized', 'finalized']);
    expect(lane.state.attempts).toEqual([]);
    expect(lane.finished).toEqual(['a', 'b']);
  });

  it('tells nothing that a second endpoint does not confirm', async () => {
    lane.chain.confirms = false;
    await lane.send('a');
    lane.chain.mine(lane.newest(0), { pays: ['a'] });
    await lane.follow();
    lane.chain.finalize();
    await lane.follow();
    expect(states('a')).toEqual(['broadcast']);
    lane.chain.confirms = true;
    await lane.clock.pass(300);
    await lane.follow();
    expect(states('a')).toEqual(['finalized']);
  });

  it('asks again what was not confirmed, and not all the time', async () => {
    lane.chain.confirms = false;
    await lane.send('a');
    lane.chain.mine(lane.newest(0), { pays: ['a'] });
    lane.chain.looks = 0;
    for (let round = 0; round < 100; round += 1) await lane.follow(1);
    expect(lane.chain.looks).toBe(1);
    lane.chain.confirms = true;
    await lane.clock.pass(300);
    await lane.follow();
    expect(states('a')).toEqual(['included']);
  });

  it('looks again for what a node does not show, less and less often, and finds it', async () => {
    await lane.send('a');
    lane.chain.used = 1;
    lane.chain.looks = 0;
    for (let passed = 0; passed < 5000; passed += 50) {
      await lane.follow(1);
      await lane.clock.pass(50);
    }
    expect(lane.chain.looks).toBeGreaterThan(8);
    expect(lane.chain.looks).toBeLessThan(16);
    lane.chain.used = 0;
    lane.chain.mine(lane.newest(0), { pays: ['a'] });
    await lane.follow();
    expect(states('a')).toEqual(['included']);
  });

  describe('what the endpoint of the head hides', () => {
    beforeEach(async () => {
      await lane.send('a');
      lane.chain.look = () => Promise.resolve({ usedNonces: 0, included: new Map() });
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
    });

    it('is found at another one after three blocks, before anything is final', async () => {
      await lane.follow();
      expect(states('a')).toEqual(['broadcast']);
      lane.chain.mine();
      lane.chain.mine();
      await lane.follow();
      expect(states('a')).toEqual(['included']);
    });

    it('is found at once when a node says that its nonce is used', async () => {
      const tracked = lane.state.get(0);
      if (tracked !== undefined) tracked.isNonceReportedUsed = true;
      await lane.follow();
      expect(states('a')).toEqual(['included']);
    });

    it('is sent again where no other one has it', async () => {
      lane.chain.lookEverywhere = () => Promise.resolve(undefined);
      lane.chain.latest += 8n;
      const sent = lane.chain.sent.length;
      await lane.follow();
      expect(states('a')).toEqual(['broadcast']);
      expect(lane.chain.sent.length).toBeGreaterThan(sent);
    });
  });

  it('sends again what one endpoint alone shows in a block, after some blocks', async () => {
    lane.chain.confirms = false;
    await lane.send('a');
    const { transactions } = lane.state.get(0)?.attempt ?? {};
    lane.chain.mine(lane.newest(0), { pays: ['a'] });
    lane.chain.used = 0;
    const sent = lane.chain.sent.length;
    for (let block = 0; block < 4; block += 1) {
      await lane.follow(1);
      lane.chain.mine();
    }
    expect(lane.chain.sent).toHaveLength(sent);
    await lane.follow(1);
    lane.chain.mine();
    await lane.follow(1);
    expect(lane.chain.sent.length).toBeGreaterThan(sent);
    expect(transactions).toHaveLength(1);
  });

  describe('a block that was replaced', () => {
    it('is taken back, and its bytes go out again at once', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await lane.follow();
      const sent = lane.chain.sent.length;
      lane.chain.replaceFrom(lane.chain.latest);
      await lane.follow();
      expect(states('a')).toEqual(['broadcast']);
      expect(lane.reported).toContain('reorged');
      expect(lane.chain.sent.length).toBeGreaterThan(sent);
    });

    it('and now fails one item, before the takeover by another process: each is derived again', async () => {
      await lane.send('a', 'b');
      const transaction = lane.newest(0);
      lane.chain.mine(transaction, { pays: ['a', 'b'] });
      await lane.follow();
      expect(states('a', 'b')).toEqual(['included', 'included']);
      lane.chain.replaceFrom(lane.chain.latest);
      lane.chain.mine(transaction, { pays: ['a'] });
      lane = await lane.successor();
      await lane.follow();
      expect(states('a', 'b')).toEqual(['included', 'broadcast']);
      lane.chain.finalize();
      await lane.follow();
      expect(states('a', 'b')).toEqual(['finalized', 'queued']);
    });

    it('before the takeover, and nothing has taken its place: nothing stays included', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await lane.follow();
      lane.chain.replaceFrom(lane.chain.latest);
      lane = await lane.successor();
      await lane.follow();
      expect(states('a')).toEqual(['broadcast']);
    });

    it('of an acknowledged success whose attempt then fails: it is resubmitted, and no request gets a failure', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await lane.follow();
      lane.store.claims.tell('a');
      const transaction = lane.newest(0);
      lane.chain.replaceFrom(lane.chain.latest);
      lane.chain.mine(transaction, { isSuccess: false });
      lane.chain.verdicts.set('a', {
        kind: 'ended',
        ending: { id: 'a', state: 'reverted', isPaid: false },
      });
      lane.chain.finalize();
      await lane.follow(5);
      expect(states('a')).toEqual(['queued']);
      expect(lane.reported).toContain('resubmitted');
      expect(lane.finished).toEqual([]);
      await lane.store.queue.sweep(CHAIN_ID, 10);
      await lane.send();
      lane.chain.mine(lane.newest(1), { pays: ['a'] });
      await lane.follow();
      lane.chain.finalize();
      await lane.follow();
      expect(states('a')).toEqual(['finalized']);
    });
  });

  describe('an outcome that cannot be read', () => {
    it.each(['hangs', 'fails'] as const)(
      'is parked after three tries (%s), and the lane goes on meanwhile',
      async (verdict) => {
        await lane.send('burner');
        await lane.send('good');
        lane.chain.mine(lane.newest(0), { isSuccess: false });
        lane.chain.mine(lane.newest(1), { pays: ['good'] });
        lane.chain.verdicts.set('burner', verdict);
        lane.chain.finalize();
        await lane.follow();
        // The lane does not wait for the one that hangs.
        expect(states('burner', 'good')).toEqual(['broadcast', 'finalized']);
        for (let round = 0; round < 6; round += 1) {
          await lane.clock.pass(2000);
          lane.chain.finalize();
          await lane.follow();
        }
        expect(lane.store.claims.stageOf('burner')).toBe('parked');
        expect(lane.reported).toContain('parked');
        expect(lane.state.attempts).toEqual([]);
      },
    );

    it('is not held against the settlement while the chain stands still', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { isSuccess: false });
      lane.chain.verdicts.set('a', 'fails');
      lane.chain.finalize();
      for (let round = 0; round < 10; round += 1) {
        await lane.follow();
        await lane.clock.pass(2000);
      }
      expect(lane.store.claims.stageOf('a')).toBe('attempt');
    });
  });

  describe('what no block takes', () => {
    it('is sent for a higher fee at its nonce, within the budget by what it costs more', async () => {
      await lane.send('a');
      lane.chain.latest += 8n;
      await lane.follow();
      const [before, after] = lane.state.get(0)?.attempt.transactions ?? [];
      expect(after?.maxFeePerGas).toBeGreaterThanOrEqual(((before?.maxFeePerGas ?? 0n) * 9n) / 8n);
      expect(after?.isNoop).toBe(false);
    });

    it('and is over the budget at a higher fee: it is cancelled within it, never a unit above', async () => {
      const laneWei = 100_000n * GWEI;
      lane = await aLaneWorld({ budgets: { laneWei } });
      await lane.send('a');
      lane.chain.latest += 8n;
      await lane.follow();
      expect(lane.newest(0).isNoop).toBe(true);
      const day = new Date(lane.clock.now()).toISOString().slice(0, 10);
      expect(lane.store.gas.spentOn(CHAIN_ID, LANE, day)).toBeLessThanOrEqual(laneWei / GWEI);
      expect(states('a')).toEqual(['broadcast']);
      lane.chain.mine(lane.newest(0));
      await lane.follow();
      lane.chain.finalize();
      await lane.follow();
      expect(states('a')).toEqual(['queued']);
    });

    it('since no pool has it at all: a no-op takes its nonce, each item goes alone, batches get smaller', async () => {
      lane.chain.sendResults = [{ kind: 'rejected' }];
      await lane.send('a', 'b', 'c', 'd');
      lane.chain.sendResults = [{ kind: 'accepted' }];
      lane.chain.mine();
      await lane.follow();
      expect(lane.newest(0).isNoop).toBe(true);
      expect(lane.state.batchMost).toBe(2);
      lane.chain.mine(lane.newest(0));
      await lane.follow();
      lane.chain.finalize();
      await lane.follow();
      expect(states('a', 'b', 'c', 'd')).toEqual(Array(4).fill('queued'));
      const taken = await lane.store.queue.take(lane.lease, 10);
      expect(taken.every(({ goesAlone }) => goesAlone)).toBe(true);
    });

    it('keeps the settlements of every transaction of its nonce: an older one may be mined', async () => {
      await lane.send('a');
      const first = lane.newest(0);
      lane.chain.latest += 8n;
      await lane.follow();
      lane.chain.mine(first, { pays: ['a'] });
      await lane.follow();
      lane.chain.finalize();
      await lane.follow();
      expect(states('a')).toEqual(['finalized']);
    });
  });

  describe('account nonces', () => {
    it('a gap that shows while the lane runs is filled', async () => {
      await lane.send('a');
      // The nonce of another attempt was given out, and nothing is stored for it.
      await lane.store.leases.setNext(lane.lease, 1, 2);
      lane.state.next = 2;
      await lane.send('b');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await lane.follow();
      expect(lane.state.get(1)).toBeUndefined();
      await lane.clock.pass(2000);
      lane.chain.mine();
      await lane.follow();
      expect(lane.state.condition).toBe('nonce_gap');
      expect(lane.newest(1).isNoop).toBe(true);
      await lane.follow();
      lane.chain.mine();
      await lane.follow();
      expect(lane.state.condition).toBeUndefined();
      expect(lane.state.attempts.map(({ accountNonce }) => accountNonce)).toEqual([0, 1, 2]);
    });

    it('those that were used before a process took over are no gap, once all it follows is mined', async () => {
      await lane.store.leases.setNext(lane.lease, 0, 47);
      lane.state.next = 47;
      lane.chain.used = 47;
      await lane.send('a');
      const heir = await lane.successor();
      heir.chain.mine(heir.newest(47), { pays: ['a'] });
      await heir.follow();
      heir.chain.mine();
      await heir.follow();
      expect(states('a')).toEqual(['included']);
      expect(heir.state.condition).toBeUndefined();
      heir.chain.finalize();
      await heir.follow();
      expect(states('a')).toEqual(['finalized']);
      expect(heir.state.condition).toBeUndefined();
    });

    it('a node that counts more than there are is not believed while another one counts less', async () => {
      lane.chain.lies = [5, 0];
      await lane.send('a');
      await lane.follow();
      expect(lane.state.next).toBe(1);
      expect(lane.state.attempts).toHaveLength(1);
      lane.chain.lies = [0, 0];
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await lane.follow();
      expect(states('a')).toEqual(['included']);
    });

    it.each<['unknown' | 'hangs']>([['unknown'], ['hangs']])(
      'one whose block was replaced is not closed while the second endpoint is mute or still shows the block (%s)',
      async (standing) => {
        await lane.send('a');
        lane.chain.mine(lane.newest(0), { pays: ['a'] });
        await lane.follow();
        lane.chain.replaceFrom(lane.chain.latest);
        lane.chain.hidesReplacements = true;
        lane.chain.standing = standing;
        lane.chain.finalize();
        await lane.follow(5);
        expect(states('a')).not.toEqual(['finalized']);
        expect(lane.state.attempts).toHaveLength(1);
        // Both show it now: the same bytes go out again, and the lane goes on.
        lane.chain.hidesReplacements = false;
        lane.chain.standing = undefined;
        await lane.clock.pass(5000);
        lane.chain.mine();
        await lane.follow(5);
        expect(states('a')).toEqual(['broadcast']);
        lane.chain.mine(lane.newest(0), { pays: ['a'] });
        await lane.follow();
        lane.chain.finalize();
        await lane.follow(5);
        expect(states('a')).toEqual(['finalized']);
      },
    );

    it('one that was closed, and that the chain counts as unused, is a gap that is filled', async () => {
      await lane.send('a');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      const block = lane.chain.latest;
      await lane.follow();
      lane.chain.finalize();
      await lane.follow(5);
      expect(lane.state.hasAttempts).toBe(false);
      // The chain goes back below what both endpoints had called final.
      lane.chain.replaceFrom(block);
      await lane.send('b');
      await lane.follow();
      await lane.clock.pass(2000);
      lane.chain.mine();
      await lane.follow(5);
      expect(lane.newest(0).isNoop).toBe(true);
      lane.chain.mine(lane.newest(0));
      lane.chain.mine(lane.newest(1), { pays: ['b'] });
      await lane.follow(5);
      expect(states('b')).toEqual(['included']);
    });

    it('one that was closed is no gap while a single node counts fewer', async () => {
      for (const id of ['a', 'b']) await lane.send(id);
      for (const [index, id] of ['a', 'b'].entries()) {
        lane.chain.mine(lane.newest(index), { pays: [id] });
      }
      await lane.follow();
      lane.chain.finalize();
      await lane.follow(5);
      await lane.send('c');
      lane.chain.lies = [-2, 0];
      for (let round = 0; round < 4; round += 1) {
        await lane.follow();
        await lane.clock.pass(2000);
        lane.chain.mine();
      }
      expect(lane.state.attempts.map(({ accountNonce }) => accountNonce)).toEqual([2]);
    });

    it('one that was closed while it was being counted is no gap', async () => {
      await lane.send('a');
      await lane.send('b');
      lane.chain.mine(lane.newest(0), { pays: ['a'] });
      await lane.follow();
      lane.chain.finalize();
      await lane.follow(5);
      // The earlier count arrives after the block that used the nonce has become final.
      let tell: ((count: { latest: number; pending: number }) => void) | undefined;
      lane.chain.transactionCount = () => new Promise((resolve) => (tell = resolve));
      lane.chain.lies = [-1];
      lane.chain.mine();
      await lane.follow();
      await lane.clock.pass(1600);
      lane.chain.mine();
      await lane.follow();
      lane.chain.lies = [0];
      lane.chain.mine(lane.newest(1), { pays: ['b'] });
      await lane.follow();
      lane.chain.finalize();
      await lane.follow(5);
      expect(tell).toBeDefined();
      tell?.({ latest: 1, pending: 1 });
      await lane.clock.pass(0);
      await lane.send('c');
      await lane.follow();
      expect(lane.state.attempts.map(({ accountNonce }) => accountNonce)).toEqual([2]);
    });

    it('one that is finally used by a transaction not ours gives its settlements back', async () => {
      lane.chain.behind = 2n;
      await lane.send('a');
      const { newestBlock } = lane.state.get(0)?.attempt ?? {};
      lane.chain.used = 1;
      lane.chain.latest += 1n;
      await lane.follow();
      expect(states('a')).toEqual(['broadcast']);
      lane.chain.finalize();
      await lane.follow();
      await lane.clock.pass(2000);
      await lane.follow();
      expect(states('a')).toEqual(['queued']);
      // A use up to the newest known block is no copy of the attempt.
      expect(newestBlock).toBeDefined();
      expect(lane.store.claims.get('a')?.sinceBlock).toBe(newestBlock?.number);
      expect(lane.reported).toContain('nonceUsedByOther:0');
    });

    it.each<[string, (chain: LaneWorld['chain']) => void]>([
      ['it was found in between', (chain) => (chain.lookEverywhere = () => Promise.resolve(SEEN))],
      ['it was not finally used in between', (chain) => (chain.finalUsed = 0)],
    ])('one that shows no transaction is missing again after %s', async (_, change) => {
      await lane.send('a');
      lane.chain.confirms = false;
      lane.chain.used = 1;
      lane.chain.finalize();
      await lane.follow();
      const { lookEverywhere } = lane.chain;
      change(lane.chain);
      await lane.clock.pass(2000);
      await lane.follow();
      lane.chain.lookEverywhere = lookEverywhere;
      lane.chain.finalUsed = 1;
      await lane.clock.pass(2000);
      await lane.follow();
      expect(states('a')).toEqual(['broadcast']);
      await lane.clock.pass(2000);
      await lane.follow();
      expect(states('a')).toEqual(['queued']);
    });

    it('one that a single node calls final is not given up while another one does not', async () => {
      await lane.send('a');
      lane.chain.lies = [1, 0];
      lane.chain.finalize();
      for (let round = 0; round < 5; round += 1) {
        await lane.follow();
        await lane.clock.pass(2000);
      }
      expect(states('a')).toEqual(['broadcast']);
    });
  });

  describe('a process without the key', () => {
    it('follows what is on its way to its end, and signs nothing', async () => {
      await lane.send('a');
      const transaction = lane.newest(0);
      const heir = await lane.successor({ isFollowing: true });
      lane.chain.latest += 20n;
      await heir.follow();
      expect(heir.state.get(0)?.attempt.transactions).toHaveLength(1);
      heir.chain.mine(transaction, { pays: ['a'] });
      await heir.follow();
      heir.chain.finalize();
      await heir.follow();
      expect(states('a')).toEqual(['finalized']);
      expect(heir.following.isWaiting).toBe(false);
    });
  });
});
