import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryLaneStore } from '../../ledger/memory/memory-lane-store.js';
import { aLaneWorld, CHAIN_ID, LANE, LaneWorld } from '../lane-world.builder.js';

/** Where a lane finds itself, whatever happened before. */
describe('a lane that is opened', () => {
  let lane: LaneWorld;

  beforeEach(async () => {
    lane = await aLaneWorld();
  });

  const nonces = (world = lane) => world.state.attempts.map(({ accountNonce }) => accountNonce);

  /** A lane that nobody has opened yet, on the chain and ledger of a test. */
  const closedLane = (): LaneWorld => new LaneWorld(lane.clock, lane.chain, lane.store);

  /** Lets it look again and again while it opens. */
  async function opened(world: LaneWorld, processId = 'p2'): Promise<LaneWorld> {
    const opening = world.open(processId);
    for (let round = 0; round < 30; round += 1) await lane.clock.pass(500);
    await opening;
    return world;
  }

  const freed = () => lane.store.release(lane.lease);

  it('goes on with the nonce of the ledger, and with what is on its way', async () => {
    await lane.send('a');
    await lane.send('b');
    const heir = await lane.successor();
    expect(heir.state.next).toBe(2);
    expect(nonces(heir)).toEqual([0, 1]);
  });

  it('puts back what its former writer had taken and not signed', async () => {
    await lane.claim('a');
    await lane.store.take(lane.lease, 1);
    await lane.successor();
    expect(lane.store.claims.stageOf('a')).toBe('ready');
  });

  it('fills nonces that were allocated and of which nothing is stored', async () => {
    await lane.send('a');
    await lane.store.setNext(lane.lease, 1, 3);
    const heir = await lane.successor();
    expect(nonces(heir)).toEqual([0, 1, 2]);
    expect(heir.newest(1).isNoop).toBe(true);
  });

  it('whose record is gone begins where the chain is', async () => {
    lane.chain.used = 7;
    const store = new MemoryLaneStore(() => lane.clock.now());
    const heir = await opened(new LaneWorld(lane.clock, lane.chain, store));
    expect(heir.state.next).toBe(7);
    expect(heir.told).not.toContain('nonceUsedByOther:0');
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
    const opening = heir.open('p2').then(() => (isOpen = true));
    await lane.clock.pass(0);
    expect(isOpen).toBe(false);
    lane.chain.lies = [0];
    await lane.clock.pass(500);
    await opening;
    expect(heir.state.next).toBe(1);
  });

  it('what another one has used with its key is skipped, with an alert', async () => {
    await freed();
    lane.chain.used = 2;
    const heir = await opened(closedLane());
    expect(heir.state.next).toBe(2);
    expect(heir.told).toContain('nonceUsedByOther:0');
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
    expect(lane.told).toContain('restored:1');
    lane.chain.mine(lane.newest(0), { pays: ['a'] });
    await lane.follow();
    lane.chain.finalize();
    await lane.follow();
    expect(lane.store.claims.stateOf('a')).toBe('finalized');
  });

  it('on a ledger that went back to before an outbid stores the newer transaction too', async () => {
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
    expect(await lane.store.orphans(CHAIN_ID, [])).toEqual([]);
  });
});
