import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { TestClock } from '../../../../test/builders/platform/concurrency/clock.js';
import {
  CHAIN_ID,
  GWEI,
  LANE,
  LaneWorld,
  SIGNER,
  TestChain,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import { MemoryLaneStore } from '../../../../test/twins/settlement/ledger/memory-lane-store.js';
import { RedisUnavailableError } from '../../../protocol/errors.js';
import { dayOf } from '../../model/gas-price.js';
import type { LaneLevel } from '../../model/refill.js';

const LOW: Address = `0x${'11'.repeat(20)}`;
const OTHER: Address = `0x${'22'.repeat(20)}`;
const STRANGER: Address = `0x${'33'.repeat(20)}`;
/** 100 000 gas at 1 gwei. */
const SETTLEMENT = 100_000n * GWEI;
const GAS = 21_000n * GWEI;
const REFILL = 10n * SETTLEMENT;
const COIN = 10n ** 18n;

describe('a treasury', () => {
  let clock: TestClock;
  let chain: TestChain;
  let store: MemoryLaneStore;
  let levels: LaneLevel[];
  let treasury: LaneWorld;

  const level = (signer: string, settlementsLeft: number, more: Partial<LaneLevel> = {}) => ({
    chainId: CHAIN_ID,
    signer,
    settlementsLeft,
    gasPriceWei: '1',
    silentMs: 0,
    ...more,
  });
  const options = (dailyCapWei = COIN) => ({
    treasury: {
      rules: { lanes: new Set([LOW, OTHER]), refillBelow: 5, refillTo: 10, dailyCapWei },
      levels: () => Promise.resolve(levels),
    },
  });
  async function start(dailyCapWei = COIN): Promise<void> {
    clock = new TestClock();
    chain = new TestChain();
    store = new MemoryLaneStore(() => clock.now());
    levels = [level(LOW, 0)];
    chain.balances.set(LOW, 0n);
    chain.balances.set(OTHER, 0n);
    treasury = new LaneWorld(clock, chain, store, options(dailyCapWei));
    await treasury.open();
  }
  beforeEach(() => start());

  /** What it does by itself every two seconds. */
  async function look(world = treasury): Promise<void> {
    await world.clock.pass(2001);
    await world.sending.sendReady(world.lease, () => true);
    await world.clock.pass(0);
  }
  const attempts = () => store.attemptsOf(LANE);
  const refills = () => attempts().map(({ refill }) => refill);
  const spent = (day = dayOf(clock.now())) => store.gas.spentOn(CHAIN_ID, LANE, day);
  /** The newest bytes of an account nonce are mined, and reach the lane. */
  function mine(nonce: number): void {
    const attempt = attempts().find(({ accountNonce }) => accountNonce === nonce);
    const newest = attempt?.transactions.at(-1);
    if (attempt?.refill === undefined || newest === undefined) throw new Error('no refill');
    chain.mine(newest);
    if (newest.isNoop) return;
    const { to, valueWei } = attempt.refill;
    chain.balances.set(to, (chain.balances.get(to) ?? 0n) + valueWei);
  }
  async function finish(nonce: number): Promise<void> {
    mine(nonce);
    await treasury.follow();
    chain.finalize();
    await treasury.follow();
  }

  it('brings a lane up to what settings say, by what the chain has of it', async () => {
    chain.balances.set(LOW, 3n * SETTLEMENT);
    await look();
    expect(refills()).toEqual([{ to: LOW, valueWei: 7n * SETTLEMENT }]);
    expect(treasury.signer.values).toEqual([7n * SETTLEMENT]);
    expect(spent()).toBe((7n * SETTLEMENT + GAS) / GWEI);
  });

  it('begins with the lane that has least, and sends one at a time until it is final', async () => {
    levels = [level(OTHER, 4), level(LOW, 1)];
    await look();
    await look();
    expect(refills()).toEqual([{ to: LOW, valueWei: REFILL }]);
    mine(0);
    await treasury.follow();
    await look();
    // Mined is not final: a reorg may take it back.
    expect(attempts()).toHaveLength(1);
    chain.finalize();
    await treasury.follow();
    expect(attempts()).toHaveLength(0);
    await look();
    // What the ledger still says of the first one changes nothing: the chain shows that it has enough.
    expect(refills()).toEqual([{ to: OTHER, valueWei: REFILL }]);
  });

  it.each<[string, LaneLevel]>([
    ['has enough', level(LOW, 5)],
    ['is of another chain', level(LOW, 0, { chainId: 97 })],
    ['is not of the settings', level(STRANGER, 0)],
    ['has no writer', level(LOW, 0, { silentMs: 5001 })],
    ['is on its way out', level(LOW, 0, { isRetiring: true })],
    ['does not know yet what it has', level(LOW, 0, { gasPriceWei: '0' })],
    ['says nonsense', level(LOW, Number.NaN)],
    ['is the treasury itself', level(SIGNER, 0)],
  ])('refills no lane that %s', async (_, one) => {
    levels = [one];
    await look();
    expect([attempts(), treasury.signer.values]).toEqual([[], []]);
  });

  it('believes the chain, and not the ledger, that a lane is short', async () => {
    chain.balances.set(LOW, REFILL);
    await look();
    expect(attempts()).toEqual([]);
    chain.balances.set(LOW, 5n * SETTLEMENT);
    await look();
    expect(attempts()).toEqual([]);
    chain.balances.set(LOW, 5n * SETTLEMENT - 1n);
    await look();
    expect(refills()).toEqual([{ to: LOW, valueWei: 5n * SETTLEMENT + 1n }]);
  });

  it.each([
    // Half of the way from 5 to 10.
    ['is short of half a refill', 8n * SETTLEMENT - 1n, [2n * SETTLEMENT + 1n]],
    ['is short of less than that', 8n * SETTLEMENT, []],
  ])(
    'refills a lane above the mark that was offered what costs more than it has, where it %s',
    async (_, balance, values) => {
      chain.balances.set(LOW, balance);
      levels = [level(LOW, 7, { isShort: true })];
      await look();
      expect(treasury.signer.values).toEqual(values);
      await start();
      chain.balances.set(LOW, balance);
      levels = [level(LOW, 7)];
      await look();
      expect(attempts()).toEqual([]);
    },
  );

  it('believes no node that has not seen the refill before', async () => {
    await look();
    await finish(0);
    chain.balances.set(LOW, 0n);
    chain.usedNoncesSeen = 0;
    await look();
    expect(attempts()).toEqual([]);
    chain.usedNoncesSeen = undefined;
    await look();
    expect(refills()).toHaveLength(1);
  });

  it('refills no account with code: a transfer has no gas to run it', async () => {
    chain.contracts.add(LOW);
    await look();
    expect(attempts()).toEqual([]);
  });

  it('never spends more than the cap of a day, gas included', async () => {
    await start(REFILL + GAS - GWEI);
    await look();
    expect([attempts(), treasury.refills?.condition]).toEqual([[], 'budget_exhausted']);
    await start(REFILL + GAS);
    await look();
    expect(refills()).toHaveLength(1);
    await finish(0);
    levels = [level(OTHER, 0)];
    await look();
    expect([attempts(), treasury.refills?.condition]).toEqual([[], 'budget_exhausted']);
  });

  it('does not sign what is beyond the cap of a day', async () => {
    await start(REFILL - 1n);
    await look();
    expect([attempts(), treasury.signer.values]).toEqual([[], []]);
    expect(treasury.refills?.condition).toBe('budget_exhausted');
  });

  it('counts what a refill cost for the day on which it was charged', async () => {
    await start(REFILL + GAS);
    const before = dayOf(clock.now());
    await look();
    await clock.pass(24 * 3_600_000);
    treasury = await treasury.successor(options(REFILL + GAS));
    expect([spent(before), spent()]).toEqual([(REFILL + GAS) / GWEI, 0n]);
    await finish(0);
    // 50 000 gas at 1 gwei is what the test's chain charges.
    expect(spent()).toBe(0n);
    levels = [level(OTHER, 0)];
    await look();
    expect(refills()).toEqual([{ to: OTHER, valueWei: REFILL }]);
  });

  it('says that it is empty before a lane is', async () => {
    levels = [];
    chain.balances.set(SIGNER, REFILL + GAS - 1n);
    await look();
    expect(treasury.refills?.condition).toBe('no_gas');
    levels = [level(LOW, 0)];
    await look();
    expect([attempts(), treasury.refills?.condition]).toEqual([[], 'no_gas']);
    chain.balances.set(SIGNER, REFILL + GAS);
    await clock.pass(2001);
    await look();
    await look();
    expect(refills()).toHaveLength(1);
  });

  it('goes on with the stored bytes of a process that died before it sent them', async () => {
    const dying = treasury;
    dying.chain.broadcast = () => Promise.reject(new Error('dead'));
    await look();
    const [stored] = attempts();
    delete (chain as Partial<TestChain>).broadcast;
    treasury = await dying.successor(options());
    await look();
    for (let block = 0; block < 5; block += 1) {
      chain.mine();
      await treasury.follow();
    }
    expect(attempts()).toEqual([stored]);
    expect(chain.sent).toContain(stored?.transactions[0]?.raw);
    expect(chain.sent.every((raw) => raw === stored?.transactions[0]?.raw)).toBe(true);
    await finish(0);
    expect(chain.balances.get(LOW)).toBe(REFILL);
  });

  it('sends once when the reply of the ledger is lost', async () => {
    const refill = store.refills.refill.bind(store.refills);
    store.refills.refill = async (...args) => {
      await refill(...args);
      throw new RedisUnavailableError('refill', 'lost');
    };
    await expect(look()).rejects.toThrow(RedisUnavailableError);
    store.refills.refill = refill;
    // The lane is reopened, as after every outage.
    await treasury.open();
    await look();
    expect(refills()).toHaveLength(1);
    await finish(0);
    expect(chain.balances.get(LOW)).toBe(REFILL);
  });

  it('gives up the lease of another process before it sends', async () => {
    const other = await treasury.successor(options());
    await look(other);
    await expect(look(treasury)).rejects.toThrow('lease');
    expect(attempts()).toHaveLength(1);
  });

  it('offers more for the same refill at the same nonce, and charges the day for it', async () => {
    await look();
    for (let block = 0; block < 10; block += 1) {
      chain.mine();
      await treasury.follow();
    }
    const [{ transactions } = { transactions: [] }] = attempts();
    expect(transactions.length).toBeGreaterThan(1);
    expect(new Set(treasury.signer.values)).toEqual(new Set([REFILL]));
    const most = transactions.at(-1)?.maxFeePerGas ?? 0n;
    expect(spent()).toBe((REFILL + 21_000n * most + GWEI - 1n) / GWEI);
    await finish(0);
    expect(spent()).toBe((REFILL + 50_000n * GWEI) / GWEI);
  });

  it('keeps its first bytes when the cap leaves no room for a higher fee', async () => {
    await start(REFILL + GAS);
    await look();
    for (let block = 0; block < 10; block += 1) {
      chain.mine();
      await treasury.follow();
    }
    expect(attempts()[0]?.transactions).toHaveLength(1);
  });

  it('sends the same again when a reorg takes the block', async () => {
    await look();
    mine(0);
    await treasury.follow();
    const [raw] = chain.sent;
    const before = chain.sent.length;
    chain.replaceFrom(chain.latest);
    await treasury.follow();
    expect(chain.sent.length).toBeGreaterThan(before);
    expect(chain.sent.every((one) => one === raw)).toBe(true);
    await look();
    expect(attempts()).toHaveLength(1);
  });

  it('signs nothing for a stranger that the ledger names', async () => {
    await look();
    const [stored] = attempts();
    if (stored === undefined) throw new Error('nothing was sent');
    const hostile = { ...stored, refill: { to: STRANGER, valueWei: REFILL } };
    const budget = { costGwei: 1n, laneGwei: undefined, payeeGwei: undefined, day: '2026-01-01' };
    await store.attempts.replace(treasury.lease, hostile, budget);
    treasury = await treasury.successor(options());
    for (let block = 0; block < 10; block += 1) {
      chain.mine();
      await treasury.follow();
    }
    // A transfer of nothing to itself takes the place of what the ledger made up.
    expect(new Set(treasury.signer.values)).toEqual(new Set([0n]));
    expect(attempts()[0]?.transactions.at(-1)?.isNoop).toBe(true);
  });

  it('does nothing while it is paused, or a node does not answer', async () => {
    treasury.state.isPaused = true;
    await look();
    expect(attempts()).toEqual([]);
    treasury.state.isPaused = false;
    store.paused.add(LANE);
    await look();
    expect(attempts()).toEqual([]);
    store.paused.clear();
    await look();
    expect(attempts()).toHaveLength(1);
  });

  it('says what it spent and sent last', async () => {
    await look();
    await look();
    expect(treasury.refills?.status).toEqual({
      dailyCapWei: COIN.toString(),
      spentTodayWei: (REFILL + GAS).toString(),
      lastRefill: { to: LOW, valueWei: REFILL.toString(), accountNonce: 0, at: expect.any(Number) },
    });
  });
});
