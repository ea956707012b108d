import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { aPermit2Authorization } from '../../../../test/builders/protocol/payment/accepted-payment.js';
import {
  aLaneWorld,
  aPayment,
  CHAIN_ID,
  GWEI,
  type LaneWorld,
  type LaneWorldOptions,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import type { PayerTransaction } from '../../../protocol/evm/payer-transaction.js';
import { PLACE_MS } from '../../model/sponsoring-machine.js';
import type { PreparationLook } from '../ports.js';

const RAW = `0x02${'a9'.repeat(20)}`;
const COST = 70_000n * GWEI;
const PAYER: Address = aPermit2Authorization().from;

/** A lane whose payer has signed an approval and has no native coins. */
describe("a lane that prepares a payment by its payer's own transaction", () => {
  let lane: LaneWorld;
  /** What the chain shows of the payer. */
  let payer: PreparationLook;
  let asked: number;

  async function start(fundingsWei = 1000n * COST, topUpWei = 2n * COST): Promise<void> {
    const options: LaneWorldOptions = { budgets: { fundingsWei, topUpWei } };
    lane = await aLaneWorld(options);
    payer = { isDone: false, usedNonces: 3, balanceWei: 0n };
    asked = 0;
    lane.chain.payers.look = () => {
      asked += 1;
      return Promise.resolve(payer);
    };
  }
  beforeEach(() => start());

  const transaction: PayerTransaction = {
    raw: RAW as `0x${string}`,
    hash: `0x${'03'.repeat(32)}`,
    accountNonce: 3,
    gas: 70_000n,
    maxFeePerGas: GWEI,
  };
  const approved = (deadline = 4_000_000_000n) =>
    aPayment(1, {
      authorization: aPermit2Authorization({ sponsoredApproval: transaction, deadline }),
    });

  async function claim(id = 'a', payment = approved()): Promise<void> {
    lane.store.claims.claim(id, payment);
    await lane.store.queue.ready(CHAIN_ID, [id]);
  }
  /** What the lane does by itself: its send loop is woken by blocks and by what was looked at. */
  async function run(world = lane, rounds = 4): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      await world.sending.sendReady(world.lease, () => true);
      await world.clock.pass(0);
    }
  }
  async function block(): Promise<void> {
    lane.chain.mine();
    await run();
  }
  const stages = (...ids: string[]) => ids.map((id) => lane.store.claims.stageOf(id));
  const fundings = () =>
    lane.store.attemptsOf(lane.lease.lane).filter(({ kind }) => kind === 'fund');
  const sentApprovals = () => lane.chain.sent.filter((raw) => raw === RAW).length;

  it('funds, sends the approval, and settles, each after the chain has shown the one before', async () => {
    await claim();
    await run();
    expect(fundings()).toMatchObject([
      {
        accountNonce: 0,
        settlementIds: [],
        funding: { payer: PAYER, payerNonce: 3, valueWei: COST, settlementId: 'a' },
      },
    ]);
    expect([stages('a'), sentApprovals()]).toEqual([['work'], 0]);
    // The coins are on their way: nothing else happens, however many blocks pass.
    await block();
    expect([stages('a'), sentApprovals(), fundings().length]).toEqual([['work'], 0, 1]);
    payer = { ...payer, balanceWei: COST };
    await block();
    expect([stages('a'), sentApprovals()]).toEqual([['work'], 1]);
    payer = { isDone: true, usedNonces: 4, balanceWei: 1n };
    await block();
    expect([stages('a'), sentApprovals(), lane.state.next]).toEqual([['attempt'], 1, 2]);
    expect(lane.store.claims.hashesOf('a')).toEqual([lane.newest(1).hash]);
  });

  it('sends only as much as is missing, and nothing to who has enough', async () => {
    payer = { ...payer, balanceWei: COST - 5n };
    await claim();
    await run();
    expect(fundings()[0]?.funding?.valueWei).toBe(5n);
    await start();
    payer = { ...payer, balanceWei: COST };
    await claim();
    await run();
    expect([fundings(), sentApprovals()]).toEqual([[], 1]);
  });

  it('goes straight on where the approval is there', async () => {
    payer = { ...payer, isDone: true };
    await claim();
    await run();
    expect([stages('a'), sentApprovals(), fundings()]).toEqual([['attempt'], 0, []]);
  });

  it('sends the approval once a block until it is mined', async () => {
    payer = { ...payer, balanceWei: COST };
    await claim();
    await run();
    await run();
    expect(sentApprovals()).toBe(1);
    await block();
    expect(sentApprovals()).toBe(2);
  });

  it('tells why when the payer spends what it was sent, and never funds it again', async () => {
    await claim();
    await run();
    lane.chain.mine(lane.newest(0));
    lane.chain.finalize();
    await lane.follow(4);
    expect(await lane.store.attempts.fundingOf(CHAIN_ID, PAYER)).toEqual({
      payerNonce: 3,
      isDone: true,
    });
    await run();
    // One block may be replaced by another one.
    expect(stages('a')).toEqual(['work']);
    await block();
    await block();
    expect(stages('a')).toEqual(['withdrawn']);
    expect(lane.store.claims.endingOf('a').reason).toBe('erc20_approval_broadcast_failed');
    expect(lane.finished).toContain('a');
    expect(lane.store.reverts.get(PAYER)).toBe(1);
    const before = lane.state.next;
    await claim('again');
    await run();
    await block();
    await block();
    expect([stages('again'), lane.state.next]).toEqual([['withdrawn'], before]);
  });

  it('tells why when something else used the account nonce', async () => {
    payer = { ...payer, usedNonces: 4 };
    await claim();
    await run();
    await block();
    await block();
    expect(stages('a')).toEqual(['withdrawn']);
    expect([fundings(), sentApprovals()]).toEqual([[], 0]);
    // It was sent nothing, and held a place for nothing.
    expect(lane.store.reverts.get(PAYER)).toBe(1);
  });

  it('believes one block no more than the next one', async () => {
    payer = { ...payer, usedNonces: 4 };
    await claim();
    await run();
    payer = { ...payer, usedNonces: 3, balanceWei: COST };
    await block();
    payer = { ...payer, usedNonces: 4 };
    await block();
    expect(stages('a')).toEqual(['work']);
  });

  it('ends a transaction that is not mined in time, and one that expires', async () => {
    payer = { ...payer, balanceWei: COST };
    await claim();
    await run();
    await lane.clock.pass(59_000);
    await block();
    expect(stages('a')).toEqual(['work']);
    await lane.clock.pass(1000);
    await block();
    expect(lane.store.claims.endingOf('a').reason).toBe('erc20_approval_broadcast_failed');
    await start();
    await claim('b', approved(BigInt(Math.floor(lane.clock.now() / 1000)) + 5n));
    await run();
    await lane.clock.pass(5000);
    await block();
    expect(lane.store.claims.endingOf('b').reason).toBe('permit2_deadline_expired');
  });

  it.each([
    [
      'its gas costs too much',
      () => (lane.chain.market = { ...lane.chain.market, baseFeePerGas: 1000n * GWEI }),
    ],
    ['its signer does not sign', () => (lane.signer.isAvailable = false)],
    ['an operator has paused it', () => lane.store.paused.add(lane.lease.lane)],
  ])('gives the place back while %s, and counts nothing against the payer', async (_, trouble) => {
    const { market } = lane.chain;
    const { look } = lane.chain.payers;
    lane.chain.payers.look = (...asking) => {
      trouble();
      return look(...asking);
    };
    await claim();
    await run();
    expect([stages('a'), fundings()]).toEqual([['ready'], []]);
    for (let passed = 0; passed <= PLACE_MS; passed += 10_000) {
      await lane.clock.pass(10_000);
      await run();
    }
    expect([stages('a'), lane.store.reverts.size]).toEqual([['ready'], 0]);
    lane.chain.payers.look = look;
    lane.chain.market = market;
    lane.signer.isAvailable = true;
    lane.store.paused.clear();
    await lane.clock.pass(10_000);
    await run();
    expect([stages('a'), fundings().length]).toEqual([['work'], 1]);
  });

  it('forgets what its requesters gave up, and sends nothing more for it', async () => {
    await claim();
    await run();
    expect(lane.store.claims.withdraw('a')).toBe(true);
    payer = { ...payer, balanceWei: COST };
    await block();
    await block();
    expect([stages('a'), sentApprovals(), lane.sending.isWaiting]).toEqual([
      ['withdrawn'],
      0,
      false,
    ]);
  });

  it('funds no payer that was given up between the look and the funding', async () => {
    await claim();
    lane.chain.payers.look = () => {
      lane.store.claims.withdraw('a');
      return Promise.resolve(payer);
    };
    await run();
    expect([fundings(), lane.state.next]).toEqual([[], 0]);
  });

  it('refuses where the budget of the day is spent, and is still whole', async () => {
    await start(COST);
    await claim();
    await run();
    expect(lane.store.claims.endingOf('a').reason).toBe('budget_exhausted');
    expect([fundings(), lane.state.next]).toEqual([[], 0]);
    expect(await lane.store.attempts.fundingOf(CHAIN_ID, PAYER)).toBeUndefined();
  });

  it('never exceeds the limit for one payer, whatever the ledger says', async () => {
    await start(undefined, COST - 1n);
    await claim();
    await run();
    expect(lane.store.claims.endingOf('a').reason).toBe('erc20_approval_broadcast_failed');
    expect([fundings(), lane.state.next]).toEqual([[], 0]);
    await start(undefined, COST);
    await claim();
    await run();
    expect(fundings()).toHaveLength(1);
  });

  it('funds no payer whose settlement it could not pay for', async () => {
    lane.chain.balance = () => Promise.resolve(100_000n * GWEI);
    const sponsoredApproval = { ...transaction, gas: 100_000n };
    const deadline = 4_000_000_000n;
    await claim(
      'a',
      aPayment(1, { authorization: aPermit2Authorization({ sponsoredApproval, deadline }) }),
    );
    await run();
    expect([stages('a'), fundings(), lane.state.condition]).toEqual([['work'], [], undefined]);
    // Its treasury has to know.
    expect(lane.state.isShort).toBe(true);
    await lane.clock.pass(9000);
    await block();
    expect(stages('a')).toEqual(['work']);
    // It is not the payer's approval that came to nothing.
    await lane.clock.pass(1000);
    await run();
    expect(lane.store.claims.endingOf('a').reason).toBe('no_gas');
    expect(lane.store.reverts.size).toBe(0);
  });

  it('goes on with plain payments while it is short of the money for one payer', async () => {
    lane.chain.balance = () => Promise.resolve(900_000n * GWEI);
    const sponsoredApproval = { ...transaction, gas: 1_000_000n };
    await start(undefined, 2_000_000n * GWEI);
    lane.chain.balance = () => Promise.resolve(900_000n * GWEI);
    const deadline = 4_000_000_000n;
    const authorization = aPermit2Authorization({ sponsoredApproval, deadline });
    await claim('a', aPayment(1, { authorization }));
    await run();
    for (const id of ['b', 'c', 'd']) {
      lane.chain.mine();
      await lane.send(id);
      await run();
      // Without a moment of rest, though the payer was short at each of these blocks.
      expect([stages('a', id), lane.state.condition]).toEqual([['work', 'attempt'], undefined]);
    }
    expect(fundings()).toEqual([]);
  });

  /** Another payer's payment whose approval comes first. */
  const ofPayer = (n: number, asset: Address, deadline = 4_000_000_000n) =>
    aPayment(n, {
      asset,
      authorization: aPermit2Authorization({
        sponsoredApproval: transaction,
        deadline,
        nonce: BigInt(n),
        from: `0x${n.toString(16).padStart(40, '5')}`,
      }),
    });
  const ASSETS: readonly [Address, Address] = [`0x${'a1'.repeat(20)}`, `0x${'a2'.repeat(20)}`];

  it('keeps places for other assets, and settles plain payments, however many payers wait', async () => {
    payer = { ...payer, balanceWei: COST };
    for (let n = 1; n <= 65; n += 1) await claim(`s${n}`, ofPayer(n, ASSETS[0]));
    await run(lane, 10);
    const placed = Array.from({ length: 65 }, (_, n) => stages(`s${n + 1}`)[0]);
    expect(placed.filter((stage) => stage === 'work')).toHaveLength(32);
    expect(placed.filter((stage) => stage === 'ready')).toHaveLength(33);
    await claim('other', ofPayer(99, ASSETS[1]));
    await lane.send('plain');
    await run(lane, 10);
    expect(stages('other', 'plain')).toEqual(['work', 'attempt']);
    // Places are handed on when they are given up, and who held one for nothing is known.
    await lane.clock.pass(PLACE_MS);
    await block();
    await run(lane, 10);
    expect(placed.map((_, n) => stages(`s${n + 1}`)[0]).filter((s) => s === 'work')).toHaveLength(
      32,
    );
    expect(lane.store.reverts.size).toBe(33);
  });

  it('hands a place on in the order of arrival when its requester waits no more', async () => {
    payer = { ...payer, balanceWei: COST };
    for (let n = 1; n <= 65; n += 1) await claim(`s${n}`, ofPayer(n, ASSETS[0]));
    await run(lane, 10);
    const inPlaces = (): number[] =>
      Array.from({ length: 65 }, (_, n) => n + 1).filter((n) => stages(`s${n}`)[0] === 'work');
    const first = inPlaces();
    await lane.clock.pass(PLACE_MS / 3);
    for (const n of first) lane.store.claims.withdraw(`s${n}`);
    await block();
    await run(lane, 10);
    expect([first.at(-1), inPlaces()]).toEqual([32, first.map((n) => n + 32)]);
  });

  it('suspends a payer that has itself funded three times, and lets each expire', async () => {
    for (let nonce = 3; nonce < 6; nonce += 1) {
      const deadline = BigInt(Math.floor(lane.clock.now() / 1000)) + 5n;
      const sponsoredApproval = { ...transaction, accountNonce: nonce };
      payer = { isDone: false, usedNonces: nonce, balanceWei: 0n };
      const authorization = aPermit2Authorization({ sponsoredApproval, deadline });
      await claim(`a${nonce}`, aPayment(nonce, { authorization }));
      await block();
      expect(fundings().at(-1)?.funding?.payerNonce).toBe(nonce);
      await lane.clock.pass(6000);
      await block();
      expect(lane.store.claims.endingOf(`a${nonce}`).reason).toBe('permit2_deadline_expired');
    }
    expect(lane.store.reverts.get(PAYER)).toBe(3);
  });

  it('takes no payment by another way than its own where approvals are not sponsored', async () => {
    lane = await aLaneWorld();
    const refused = { id: 'a', reason: 'permit2_allowance_required' } as const;
    lane.chain.preflight = () => ({ refusals: [refused] });
    await claim();
    await run();
    expect(stages('a')).toEqual(['withdrawn']);
    expect([fundings(), sentApprovals()]).toEqual([[], 0]);
  });

  it('looks again, after a moment, where a node that lags does not see the approval yet', async () => {
    payer = { ...payer, isDone: true };
    const lagging = { id: 'a', reason: 'permit2_allowance_required' } as const;
    lane.chain.preflight = () => ({ refusals: [lagging] });
    await claim();
    await run(lane, 20);
    expect([stages('a'), asked]).toEqual([['work'], 1]);
    lane.chain.preflight = () => ({});
    await lane.clock.pass(500);
    await run();
    expect(stages('a')).toEqual(['attempt']);
  });

  it('does not look again for ever', async () => {
    payer = { ...payer, isDone: true };
    const refused = { id: 'a', reason: 'permit2_allowance_required' } as const;
    lane.chain.preflight = () => ({ refusals: [refused] });
    await claim();
    await run(lane, 2);
    await lane.clock.pass(60_000);
    await block();
    expect(stages('a')).toEqual(['withdrawn']);
  });

  it('asks a chain that does not answer twice a second, and does not delay others', async () => {
    let failed = 0;
    lane.chain.payers.look = () => {
      failed += 1;
      return Promise.reject(new ChainUnavailableError(CHAIN_ID, 'a count'));
    };
    await claim();
    await lane.send('other');
    await run(lane, 20);
    expect([stages('a', 'other'), failed]).toEqual([['work', 'attempt'], 1]);
    await lane.clock.pass(500);
    await run(lane, 20);
    expect(failed).toBe(2);
    lane.chain.payers.look = () => Promise.resolve({ ...payer, isDone: true });
    await lane.clock.pass(500);
    await run();
    expect(stages('a')).toEqual(['attempt']);
  });

  // ---------------------------------------------------------------- killed

  it('is carried on by another process after the funding was stored', async () => {
    await claim();
    await run();
    expect(fundings()).toHaveLength(1);
    const next = await lane.successor({
      budgets: { fundingsWei: 1000n * COST, topUpWei: 2n * COST },
    });
    lane = next;
    // The same bytes again, and no second funding.
    expect(lane.chain.sent.filter((raw) => raw === lane.newest(0).raw)).toHaveLength(2);
    await run();
    await block();
    expect([stages('a'), fundings().length, sentApprovals()]).toEqual([['work'], 1, 0]);
    payer = { ...payer, balanceWei: COST };
    await block();
    expect(sentApprovals()).toBe(1);
  });

  it('is carried on by another process after the approval was sent, and after it was mined', async () => {
    payer = { ...payer, balanceWei: COST };
    await claim();
    await run();
    expect(sentApprovals()).toBe(1);
    lane = await lane.successor({ budgets: { fundingsWei: 1000n * COST, topUpWei: 2n * COST } });
    await run();
    expect([sentApprovals(), fundings()]).toEqual([2, []]);
    lane = await lane.successor({ budgets: { fundingsWei: 1000n * COST, topUpWei: 2n * COST } });
    payer = { isDone: true, usedNonces: 4, balanceWei: 0n };
    await block();
    expect([stages('a'), fundings(), lane.state.next]).toEqual([['attempt'], [], 1]);
  });

  // ---------------------------------------------------------------- the funding itself

  it('replaces a funding that is not mined by the same one for a higher fee, and cancels none', async () => {
    await claim();
    await run();
    const [first] = fundings()[0]?.transactions ?? [];
    for (let blocks = 0; blocks < 12; blocks += 1) {
      lane.chain.mine();
      await lane.follow();
    }
    const [attempt] = fundings();
    expect(attempt?.transactions.length).toBeGreaterThan(1);
    expect(attempt?.transactions.every(({ isNoop }) => !isNoop)).toBe(true);
    expect(attempt?.transactions.every(({ raw }) => raw === first?.raw)).toBe(true);
  });

  it('is charged with what it has cost, coins included, once it is final', async () => {
    await claim();
    await run();
    const day = new Date(lane.clock.now()).toISOString().slice(0, 10);
    expect(lane.store.gas.spentOn(CHAIN_ID, 'fundings', day)).toBe(70_000n + 21_000n);
    lane.chain.mine(lane.newest(0));
    lane.chain.finalize();
    await lane.follow(4);
    expect(lane.state.attempts).toEqual([]);
    // 50 000 gas at 1 gwei, as the test's chain has it.
    expect(lane.store.gas.spentOn(CHAIN_ID, 'fundings', day)).toBe(70_000n + 50_000n);
    expect(asked).toBeGreaterThan(0);
  });
});
