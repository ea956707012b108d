import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  aLaneWorld,
  CHAIN_ID,
  GWEI,
  LANE,
  LaneWorld,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import { MemoryLaneStore } from '../../../../test/twins/settlement/ledger/memory-lane-store.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import { ReopenLane } from '../lane-errors.js';

/** Where a lane finds itself, whatever happened before. */
describe('a lane that is opened', () => {
  let lane: LaneWorld;

  beforeEach(async () => {
    lane = await aLaneWorld();
  });

  const nonces = (world = lane) => world.state.attempts.map(({ accountNonce }) => accountNonce);

  /** A lane that is not open yet, on the chain and ledger of a test. */
  const closedLane = (): LaneWorld => new LaneWorld(lane.clock, lane.chain, lane.store);

  /** Lets it look again and again while it opens. */
  async function opened(world: LaneWorld, processId = 'p2'): Promise<LaneWorld> {
    const recovering = world.open(processId);
    for (let round = 0; round < 30; round += 1) await lane.clock.pass(500);
    await recovering;
    return world;
  }

  const freed = () => lane.store.leases.release(lane.lease);

  it('goes on with the nonce of the ledger, and with what is on its way', async () => {
    await lane.send('a');
    await lane.send('b');
    const heir = await lane.successor();
    expect(heir.state.next).toBe(2);
    expect(nonces(heir)).toEqual([0, 1]);
  });

  it('puts back what its former writer had taken and not signed', async () => {
    await lane.claim('a');
    await lane.store.queue.take(lane.lease, 1);
    await lane.successor();
    expect(lane.store.claims.stageOf('a')).toBe('ready');
  });

  it('fills nonces that were allocated and of which nothing is stored', async () => {
    await lane.send('a');
    await lane.store.leases.setNext(lane.lease, 1, 3);
    const heir = await lane.successor();
    expect(nonces(heir)).toEqual([0, 1, 2]);
    expect(heir.newest(1).isNoop).toBe(true);
  });

  it('whose record is gone begins where the chain is', async () => {
    lane.chain.used = 7;
    const store = new MemoryLaneStore(() => lane.clock.now());
    const heir = await opened(new LaneWorld(lane.clock, lane.chain, store));
    expect(heir.state.next).toBe(7);
    expect(heir.reported).not.toContain('nonceUsedByOther:0');
  });

  it('a node counts more transactions than there are while it opens: another one knows better', async () => {
    await lane.send('a');
    lane.chain.mine(lane.newest(0), { pays: ['a'] });
    await freed();
    lane.chain.lies = [1000, 0];
    const heir = await opened(closedLane());
    expect(heir.state.next).toBe(1);
  });

  it('the only node counts more transactions than there are, once: it is asked twice', async () => {
    await lane.send('a');
    await freed();
    lane.chain.lies = [1000];
    const heir = closedLane();
    let isOpen = false;
    const recovering = heir.open('p2').then(() => (isOpen = true));
    await lane.clock.pass(0);
    expect(isOpen).toBe(false);
    lane.chain.lies = [0];
    await lane.clock.pass(500);
    await recovering;
    expect(heir.state.next).toBe(1);
  });

  it('what another one has used with its key is skipped, with an alert', async () => {
    await freed();
    lane.chain.used = 2;
    const heir = await opened(closedLane());
    expect(heir.state.next).toBe(2);
    expect(heir.reported).toContain('nonceUsedByOther:0');
  });

  it('on a ledger that went back stores what it remembers before it concludes anything', async () => {
    const goBack = lane.store.snapshot();
    await lane.send('a');
    const { hash } = lane.newest(0);
    goBack();
    expect(lane.store.claims.stateOf('a')).toBeUndefined();
    await lane.open();
    expect(lane.store.claims.stateOf('a')).toBe('broadcast');
    expect(lane.store.claims.hashesOf('a')).toEqual([hash]);
    expect(lane.state.next).toBe(1);
    expect(lane.reported).toContain('restored:1');
    lane.chain.mine(lane.newest(0), { pays: ['a'] });
    await lane.follow();
    lane.chain.finalize();
    await lane.follow();
    expect(lane.store.claims.stateOf('a')).toBe('finalized');
  });

  it('on a ledger that went back to before a fee bump stores the newer transaction too', async () => {
    await lane.send('a');
    const goBack = lane.store.snapshot();
    lane.chain.latest += 8n;
    await lane.follow();
    goBack();
    await lane.open();
    expect(lane.store.attemptsOf(LANE)[0]?.transactions).toHaveLength(2);
  });

  it('is refused every write on a ledger that went back before it is acquired again', async () => {
    const goBack = lane.store.snapshot();
    await lane.claim('a');
    goBack();
    await expect(lane.sending.sendReady(lane.lease, () => true)).rejects.toMatchObject({
      code: 'ledger_epoch_changed',
    });
    expect(await lane.store.leases.orphans(CHAIN_ID, [])).toEqual([]);
  });

  it('sends what is stored again: its former writer may have died before it did', async () => {
    await lane.send('a');
    await lane.send('b');
    const before = [...lane.chain.sent];
    await lane.successor();
    expect(lane.chain.sent.slice(before.length)).toEqual(before);
  });

  it('tells what it found, and that its condition is over', async () => {
    await lane.send('a');
    const heir = await lane.successor();
    expect([heir.reported.includes('opened'), heir.state.condition]).toEqual([true, undefined]);
  });

  it('has one attempt on its way at once where its signer has code', async () => {
    lane.chain.hasCode = () => Promise.resolve(true);
    const heir = await lane.successor();
    expect(heir.state.windowSize).toBe(1);
    await heir.send('a');
    await heir.send('b');
    expect(nonces(heir)).toEqual([0]);
  });

  it('carries nothing of an attempt that has ended, or goes with another nonce now', async () => {
    await lane.send('a', 'b');
    await lane.store.endings.requeue(lane.lease, 0, 100n, ['b']);
    await lane.send();
    const heir = await lane.successor();
    const carried = heir.state.attempts.map(({ payments }) => [...payments.keys()]);
    expect(carried).toEqual([['a'], ['b']]);
  });

  describe('while no endpoint can count its transactions', () => {
    const away = () => Promise.reject(new ChainUnavailableError(CHAIN_ID, 'a count'));

    it('goes on where the ledger knows its nonce', async () => {
      await lane.send('a');
      lane.chain.transactionCount = away;
      expect((await lane.successor()).state.next).toBe(1);
    });

    it('does not begin where the ledger does not: a guess would cost a payment its nonce', async () => {
      lane.chain.transactionCount = away;
      const store = new MemoryLaneStore(() => lane.clock.now());
      const heir = new LaneWorld(lane.clock, lane.chain, store);
      await expect(heir.open('p2')).rejects.toThrow(ChainUnavailableError);
      expect(heir.state.condition).toBe('resyncing');
    });

    it('fills no gap: it may be none', async () => {
      await lane.store.leases.setNext(lane.lease, 0, 2);
      lane.chain.transactionCount = away;
      const heir = await lane.successor();
      expect([nonces(heir), heir.state.next, lane.chain.sent]).toEqual([[], 2, []]);
    });
  });

  describe('when the chain is ahead of the ledger', () => {
    /** A lane that opens while nodes count these. */
    async function recovered(latest: number, pending = latest) {
      await freed();
      lane.chain.transactionCount = () => Promise.resolve({ latest, pending });
      const heir = closedLane();
      const state = { isOpen: false, error: undefined as unknown };
      const ended = heir.open('p2').then(
        () => (state.isOpen = true),
        (error: unknown) => (state.error = error),
      );
      await lane.clock.pass(0);
      return { heir, state, ended };
    }

    it('waits for what is in the pools, and for no more than ten seconds', async () => {
      const { heir, state, ended } = await recovered(2, 5);
      for (let ms = 0; ms < 10_000; ms += 500) await lane.clock.pass(500);
      expect(state.isOpen).toBe(false);
      await lane.clock.pass(500);
      await ended;
      expect([state.isOpen, heir.state.next]).toEqual([true, 2]);
    });

    it('goes on when what was in the pools is mined', async () => {
      const { heir, ended } = await recovered(2, 3);
      await lane.clock.pass(500);
      lane.chain.transactionCount = () => Promise.resolve({ latest: 3, pending: 3 });
      await lane.clock.pass(500);
      await lane.clock.pass(500);
      await ended;
      expect([heir.state.next, heir.reported[0]]).toEqual([3, 'nonceUsedByOther:0']);
    });

    it('starts again when its record was changed meanwhile', async () => {
      const { heir, state, ended } = await recovered(2);
      heir.store.leases.setNext = () => Promise.resolve(false);
      await lane.clock.pass(500);
      await ended;
      expect(state.error).toBeInstanceOf(ReopenLane);
      expect(heir.state.condition).toBe('resyncing');
    });

    it('stops waiting when it is stopped', async () => {
      await freed();
      lane.chain.transactionCount = () => Promise.resolve({ latest: 2, pending: 5 });
      const heir = closedLane();
      const held = await lane.store.leases.acquire(LANE, CHAIN_ID, 'p2', 600_000);
      if (held === undefined) throw new Error('not free');
      const opened = heir.recovery.open(held, lane.chain.head, () => false);
      await expect(opened).rejects.toThrow(ReopenLane);
    });
  });

  describe('fills gaps', () => {
    it.each<[string, number, number, number]>([
      ['that the chain has not used', 5, 2, 3],
      ['no more than 64 at once', 100, 0, 64],
      ['none that the chain has used', 5, 5, 0],
    ])('%s', async (_, next, used, expected) => {
      await lane.store.leases.setNext(lane.lease, 0, next);
      lane.chain.used = used;
      const heir = await lane.successor();
      expect(heir.state.attempts).toHaveLength(expected);
      expect(heir.state.attempts.every(({ attempt }) => attempt.kind === 'noop')).toBe(true);
    });

    it('as far as its budget goes: the rest waits', async () => {
      await lane.store.leases.setNext(lane.lease, 0, 3);
      const heir = await lane.successor({ budgets: { laneWei: 50_000n * GWEI } });
      expect(nonces(heir)).toEqual([0, 1]);
    });

    it('none where it has not the key, and reads no count', async () => {
      await lane.store.leases.setNext(lane.lease, 0, 3);
      lane.chain.transactionCount = () => Promise.reject(new TypeError('it was asked'));
      const heir = await lane.successor({ isFollowing: true });
      expect([nonces(heir), heir.state.next]).toEqual([[], 3]);
    });
  });
});
