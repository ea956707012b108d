import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock, turns } from '../../../../test/builders/platform/concurrency/clock.js';
import {
  CHAIN_ID,
  SIGNER,
  TestChain,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import { TrackedAttempt } from '../state/tracked-attempt.js';
import { GasBalance } from './gas-balance.js';

/** An attempt that may cost this much. */
function costing(wei: bigint): TrackedAttempt {
  const fees = { maxFeePerGas: wei, maxPriorityFeePerGas: 0n };
  const transaction = { hash: '0x', raw: '0x', gas: 1n, signedAt: 0, isNoop: false } as const;
  return new TrackedAttempt({
    attempt: {
      accountNonce: 0,
      kind: 'single',
      settlementIds: [],
      allocatedAtBlock: 0n,
      transactions: [{ ...transaction, ...fees }],
    },
    payments: new Map(),
    atBlock: 0n,
    nowMs: 0,
  });
}

/** What a signer has to pay for gas with, as a node said lately. */
describe('GasBalance', () => {
  let clock: TestClock;
  let chain: TestChain;
  let answer: () => Promise<bigint>;
  let reads: number;
  let balance: GasBalance;

  const away = () => Promise.reject(new ChainUnavailableError(CHAIN_ID, 'account balance'));

  beforeEach(() => {
    clock = new TestClock();
    chain = new TestChain();
    reads = 0;
    answer = () => Promise.resolve(1000n);
    chain.balance = () => {
      reads += 1;
      return answer();
    };
    balance = new GasBalance(chain, SIGNER, clock);
  });

  it('pays for nothing while it is not known', () => {
    expect([balance.balanceWei, balance.settlementsLeft([], 1n)]).toEqual([0n, 0]);
  });

  it.each<[string, readonly bigint[], bigint, number]>([
    ['whole settlements', [], 300n, 3],
    ['those that fit beside all that is in flight may cost', [250n, 250n], 100n, 5],
    ['none where what is in flight takes it all', [600n, 400n], 1n, 0],
    ['none where it takes more than there is', [2000n], 1n, 0],
    ['none where it takes it all and gas costs nothing', [1000n], 0n, 0],
    ['any number where gas costs nothing', [999n], 0n, Number.MAX_SAFE_INTEGER],
  ])('pays for %s', async (_, inFlight, costWei, expected) => {
    await balance.refresh();
    expect(balance.settlementsLeft(inFlight.map(costing), costWei)).toBe(expected);
  });

  it('is awaited the first time, and read beside the lane after that', async () => {
    await balance.refresh();
    expect(balance.balanceWei).toBe(1000n);
    let say: (wei: bigint) => void = () => undefined;
    answer = () => new Promise((resolve) => (say = resolve));
    await clock.pass(2000);
    await balance.refresh();
    expect(balance.balanceWei).toBe(1000n);
    say(7n);
    await turns();
    expect(balance.balanceWei).toBe(7n);
  });

  it('is read no more than every two seconds, and once for all who ask', async () => {
    await Promise.all([balance.refresh(), balance.refresh()]);
    expect(reads).toBe(1);
    await clock.pass(1999);
    await balance.refresh();
    expect(reads).toBe(1);
    await clock.pass(1);
    await Promise.all([balance.refresh(), balance.refresh()]);
    expect(reads).toBe(2);
  });

  it('serves for a quarter of a minute while no node answers, and no longer', async () => {
    await balance.refresh();
    answer = away;
    await clock.pass(14_999);
    await balance.refresh();
    await turns();
    await clock.pass(1);
    await expect(balance.refresh()).rejects.toThrow(ChainUnavailableError);
    answer = () => Promise.resolve(5n);
    await balance.refresh();
    expect(balance.balanceWei).toBe(5n);
  });

  it('is not guessed when it was never read', async () => {
    answer = away;
    await expect(balance.refresh()).rejects.toThrow(ChainUnavailableError);
    expect(balance.settlementsLeft([], 1n)).toBe(0);
  });

  it('is asked of all endpoints after one was too low, until that one says the same', async () => {
    let asked = 0;
    chain.balanceByAll = () => {
      asked += 1;
      return Promise.resolve(1000n);
    };
    const readAgain = async (): Promise<bigint> => {
      await clock.pass(2000);
      await balance.refresh();
      await turns();
      return balance.balanceWei;
    };
    answer = () => Promise.resolve(10n);
    await balance.refresh();
    await balance.confirm();
    expect([balance.balanceWei, asked]).toEqual([1000n, 1]);
    expect([await readAgain(), asked]).toEqual([1000n, 2]);
    answer = () => Promise.resolve(1000n);
    expect([await readAgain(), asked]).toEqual([1000n, 3]);
    answer = () => Promise.resolve(700n);
    expect([await readAgain(), asked]).toEqual([700n, 3]);
  });

  it('is confirmed beside the lane every two seconds at most', async () => {
    let asked = 0;
    chain.balanceByAll = () => {
      asked += 1;
      return asked === 1 ? Promise.resolve(20n) : away();
    };
    await clock.pass(2000);
    balance.confirmBeside();
    balance.confirmBeside();
    await turns();
    expect([balance.balanceWei, asked]).toEqual([20n, 1]);
    await clock.pass(1999);
    balance.confirmBeside();
    expect(asked).toBe(1);
    await clock.pass(1);
    balance.confirmBeside();
    await turns();
    expect([balance.balanceWei, asked]).toEqual([20n, 2]);
  });
});
