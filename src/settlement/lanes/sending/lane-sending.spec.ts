import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { channelMoves } from '../../../../test/builders/protocol/schemes/batch-settlement/authorizations.js';
import {
  aLaneWorld,
  aPayment,
  CHAIN_ID,
  GWEI,
  type LaneWorld,
  SIGNER,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import { assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import { batchGas, groupForSending } from '../../model/grouping.js';
import { ReopenLane } from '../lane-errors.js';

/** Of the chain of these tests, wei for a unit of gas. */
const MAX_FEE = GWEI;

/** What a lane does with what is ready. */
describe('a lane that sends', () => {
  let lane: LaneWorld;

  beforeEach(async () => {
    lane = await aLaneWorld();
  });

  const states = (...ids: string[]) => ids.map((id) => lane.store.claims.stageOf(id));
  const sendReady = () => lane.sending.sendReady(lane.lease, () => true);

  it('stores the signed bytes with the nonce before it sends them', async () => {
    await lane.send('a');
    expect(states('a')).toEqual(['attempt']);
    expect(lane.store.attemptsOf(lane.lease.lane)).toHaveLength(1);
    expect(lane.chain.sent).toEqual([lane.newest(0).raw]);
  });

  it('allocates nothing when what it was about to send was withdrawn', async () => {
    await lane.claim('a');
    const { preflight } = lane.chain;
    lane.chain.preflight = (ids) => {
      lane.store.claims.withdraw('a');
      return preflight(ids);
    };
    await sendReady();
    expect(states('a')).toEqual(['withdrawn']);
    expect(lane.state.next).toBe(0);
    expect(lane.chain.sent).toEqual([]);
  });

  it('refuses what would not succeed, before a nonce is taken', async () => {
    lane.chain.preflight = () => ({
      refusals: [{ id: 'a', reason: 'invalid_exact_evm_insufficient_balance' }],
    });
    await lane.send('a', 'b');
    expect(states('a', 'b')).toEqual(['withdrawn', 'attempt']);
    expect(lane.finished).toEqual(['a']);
  });

  it('one that is judged slowly does not keep the next one waiting', async () => {
    await lane.claim('slow');
    lane.chain.preflight = (ids) => (ids.includes('slow') ? 'hangs' : {});
    const sending = sendReady();
    await lane.clock.pass(0);
    await lane.clock.pass(250);
    await sending;
    await lane.send('good');
    expect(states('slow', 'good')).toEqual(['work', 'attempt']);
  });

  it('is not ended by a round of an earlier recovery that fails late', async () => {
    await lane.claim('slow');
    let fail: (error: Error) => void = () => undefined;
    lane.chain.preflight = () =>
      new Promise((_, reject) => {
        fail = reject;
      });
    const sending = sendReady();
    await lane.clock.pass(0);
    await lane.clock.pass(250);
    await sending;
    lane.sending.reset();
    fail(new ReopenLane('what was true before'));
    await lane.clock.pass(0);
    lane.chain.preflight = () => ({});
    await lane.send('good');
    expect(states('good')).toEqual(['attempt']);
  });

  it('gives everything back when its key does not sign, and goes on when it does', async () => {
    // The failure shows while it signs: the key was available a moment before.
    lane.signer.beforeSigning = () => {
      lane.signer.isAvailable = false;
      return Promise.resolve();
    };
    await lane.send('a');
    expect(states('a')).toEqual(['ready']);
    const { condition, next } = lane.state;
    expect([condition, next, lane.chain.sent]).toEqual(['signer_unavailable', 0, []]);
    lane.signer.beforeSigning = () => Promise.resolve();
    lane.signer.isAvailable = true;
    await lane.clock.pass(500);
    await sendReady();
    expect(states('a')).toEqual(['attempt']);
    expect([lane.state.condition, lane.state.next]).toEqual([undefined, 1]);
  });

  it('sends what one endpoint says it cannot pay for, and another one says it can', async () => {
    lane.chain.gas = 120_000n;
    lane.chain.balances.set(SIGNER, 110_000n * MAX_FEE);
    lane.chain.balanceByAll = () => Promise.resolve(10n ** 18n);
    await lane.send('a');
    await lane.clock.pass(500);
    await lane.store.queue.sweep(CHAIN_ID, 10);
    await sendReady();
    expect(states('a')).toEqual(['attempt']);
  });

  it('allocates nothing for what was withdrawn while it was signed', async () => {
    await lane.claim('a');
    lane.signer.beforeSigning = () => {
      lane.store.claims.withdraw('a');
      return Promise.resolve();
    };
    await sendReady();
    expect(states('a')).toEqual(['withdrawn']);
    expect([lane.state.next, lane.chain.sent]).toEqual([0, []]);
  });

  it('gives everything back when the chain cannot be asked, and says why it rests', async () => {
    lane.chain.preflight = () => 'fails';
    await lane.send('a');
    expect(states('a')).toEqual(['ready']);
    expect(lane.state.condition).toBe('chain_unavailable');
  });

  it('sends no more than its window, whatever is ready', async () => {
    lane = await aLaneWorld({ windowMax: 2 });
    await lane.send('a');
    await lane.send('b');
    await lane.send('c');
    expect(states('a', 'b', 'c')).toEqual(['attempt', 'attempt', 'ready']);
  });

  it.each([
    ['gas_price_cap', { cap: 1n, leastTip: GWEI }],
    ['no_gas', { suggestedTip: 9n * GWEI, cap: 10n ** 30n }],
  ] as const)('names what keeps it: %s', async (condition, market) => {
    lane.chain.market = { ...lane.chain.market, ...market };
    if (condition === 'no_gas') lane.chain.balance = () => Promise.resolve(1n);
    await lane.send('a');
    expect(states('a')).toEqual(['ready']);
    expect(lane.state.condition).toBe(condition);
  });

  it('sends as many together as its money pays for', async () => {
    lane = await aLaneWorld({ safeAssets: new Set([assetNameOf(aPayment(1))]) });
    lane.chain.grouping = (ready, rules) => {
      const { batches, singles } = groupForSending(ready, rules, () => 100_000n);
      const all = [...batches, ...singles.map((one) => [one])];
      return all.map((items) => ({ items, gas: batchGas(items.map(() => 100_000n)) }));
    };
    // Of one batch of two, and of no more.
    lane.chain.balance = () => Promise.resolve(batchGas([100_000n, 100_000n]) * MAX_FEE);
    await lane.send('a', 'b', 'c', 'd');
    expect(states('a', 'b', 'c', 'd').sort()).toEqual(['attempt', 'attempt', 'later', 'later']);
    expect([lane.state.next, lane.state.condition]).toEqual([1, 'no_gas']);
  });

  it('sends what it can pay for beside what costs more than it has', async () => {
    lane.chain.grouping = (ready) =>
      ready.map((one) => ({ items: [one], gas: one.id === 'dear' ? 900_000n : 100_000n }));
    lane.chain.balance = () => Promise.resolve(200_000n * MAX_FEE);
    await lane.send('dear', 'cheap');
    expect(states('dear', 'cheap')).toEqual(['later', 'attempt']);
    expect(lane.state.isShort).toBe(true);
  });

  it('does not rest for what costs more than it has: that alone waits, and comes again', async () => {
    lane.chain.grouping = (ready) =>
      ready.map((one) => ({ items: [one], gas: one.id === 'dear' ? 9_000_000n : 100_000n }));
    lane.chain.balance = () => Promise.resolve(5_000_000n * MAX_FEE);
    await lane.send('dear');
    for (const id of ['a', 'b', 'c']) {
      await lane.send(id);
      expect([states('dear', id), lane.state.condition]).toEqual([['later', 'attempt'], undefined]);
    }
    // Its treasury sees this meanwhile.
    expect(lane.state.isShort).toBe(true);
    lane.chain.balance = () => Promise.resolve(50_000_000n * MAX_FEE);
    await lane.clock.pass(5000);
    expect(lane.state.isShort).toBe(false);
    await lane.store.queue.sweep(CHAIN_ID, 10);
    await sendReady();
    expect(states('dear')).toEqual(['attempt']);
  });

  it('rests when its own budget of the day is used up', async () => {
    lane = await aLaneWorld({ budgets: { laneWei: 150_000n * GWEI } });
    await lane.send('a');
    await lane.send('b');
    expect(states('a', 'b')).toEqual(['attempt', 'ready']);
    expect(lane.state.condition).toBe('budget_exhausted');
  });

  it('refuses only the payee whose budget is used up', async () => {
    lane = await aLaneWorld({ budgets: { payeeWei: 150_000n * GWEI } });
    await lane.send('a');
    lane.store.claims.claim('other', aPayment(99, { payTo: `0x${'77'.repeat(20)}` }));
    await lane.store.queue.ready(CHAIN_ID, ['other']);
    await sendReady();
    await lane.send('b');
    expect(states('a', 'other', 'b')).toEqual(['attempt', 'attempt', 'withdrawn']);
    expect(lane.store.claims.endingOf('b').reason).toBe('budget_exhausted');
  });

  it('refuses only the payer of deposits whose budget is used up', async () => {
    lane = await aLaneWorld({ budgets: { payeeWei: 150_000n * GWEI } });
    const payer: Address = `0x${'5a'.repeat(20)}`;
    const parties = { payer, receiver: aPayment(0).payTo, authorizer: payer };
    for (const [index, id] of ['a', 'b'].entries()) {
      const authorization = channelMoves(parties, index).byEip3009;
      lane.store.claims.claim(id, aPayment(index, { authorization }));
      await lane.store.queue.ready(CHAIN_ID, [id]);
      await sendReady();
    }
    await lane.send('ofPayee');
    expect(states('a', 'b', 'ofPayee')).toEqual(['attempt', 'withdrawn', 'attempt']);
  });

  it('sends claims of one channel one after another: a second one may bring nothing for its gas', async () => {
    const parties = { payer: SIGNER, receiver: aPayment(0).payTo, authorizer: SIGNER };
    const others = { ...parties, receiver: SIGNER };
    lane.chain.grouping = (items) => items.map((item) => ({ items: [item], gas: 100_000n }));
    const claims = [
      channelMoves(parties, 1).claim,
      channelMoves(parties, 2).claim,
      channelMoves(others, 1).claim,
    ];
    for (const [index, authorization] of claims.entries()) {
      lane.store.claims.claim(`c${index}`, aPayment(index, { authorization }));
    }
    await lane.store.queue.ready(CHAIN_ID, ['c0', 'c1', 'c2']);
    await lane.send();
    const ofOne = states('c0', 'c1').sort();
    expect([...ofOne, ...states('c2')]).toEqual(['attempt', 'later', 'attempt']);
    lane.chain.mine(lane.newest(0));
    lane.chain.mine(lane.newest(1));
    await lane.follow();
    await lane.clock.pass(1000);
    await lane.store.queue.sweep(CHAIN_ID, 10);
    await lane.send();
    expect(lane.chain.sent).toHaveLength(3);
  });

  it('takes nothing while an operator has paused it', async () => {
    lane.state.isPaused = true;
    await lane.send('a');
    expect(states('a')).toEqual(['ready']);
    expect(lane.state.condition).toBe('paused');
  });

  it('what was sent before and is now found used waits for finality, and is not refused', async () => {
    await lane.send('a');
    lane.chain.mine(lane.newest(0), { isSuccess: false });
    lane.chain.finalize();
    await lane.follow(5);
    expect(states('a')).toEqual(['ready']);
    lane.chain.preflight = () => ({
      refusals: [{ id: 'a', reason: 'invalid_exact_evm_nonce_already_used' }],
    });
    await lane.send();
    expect(states('a')).toEqual(['work']);
    lane.chain.verdicts.set('a', {
      kind: 'ended',
      ending: { id: 'a', state: 'foreign', isPaid: true },
    });
    lane.chain.finalize();
    await lane.follow();
    expect(states('a')).toEqual(['foreign']);
  });
});
