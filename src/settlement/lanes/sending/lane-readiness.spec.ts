import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock, turns } from '../../../../test/builders/platform/concurrency/clock.js';
import { GWEI, SIGNER, TestChain } from '../../../../test/builders/settlement/lanes/lane-world.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import type { Attempt, SignedTransaction } from '../../model/attempt.js';
import type { LaneCondition } from '../../model/lane-status.js';
import type { LaneChain } from '../ports.js';
import { LaneState } from '../state/lane-state.js';
import { TrackedAttempt } from '../state/tracked-attempt.js';
import { GasBalance } from './gas-balance.js';
import { LaneReadiness } from './lane-readiness.js';

const GAS = 100_000n;

describe('a lane that is asked whether it can send', () => {
  let clock: TestClock;
  let chain: TestChain;
  let state: LaneState;
  let headMaxAgeMs: number;
  let isHeadKnown: boolean;
  let balanceWei: bigint | 'away';
  let elsewhereWei: bigint | undefined;
  let reads: number;
  let readiness: LaneReadiness;
  let signer: { isAvailable: boolean };

  beforeEach(() => {
    clock = new TestClock();
    chain = new TestChain();
    chain.timestamp = Math.floor(clock.now() / 1000);
    state = new LaneState(64, () => undefined, clock);
    headMaxAgeMs = 5000;
    isHeadKnown = true;
    balanceWei = 10n ** 18n;
    elsewhereWei = undefined;
    reads = 0;
    signer = { isAvailable: true };
    readiness = aReadiness();
  });

  function aReadiness(): LaneReadiness {
    const balance = (): Promise<bigint> => {
      reads += 1;
      return balanceWei === 'away'
        ? Promise.reject(new ChainUnavailableError(56, 'balance'))
        : Promise.resolve(balanceWei);
    };
    return new LaneReadiness({
      address: SIGNER,
      signer,
      state,
      clock,
      headMaxAgeMs,
      chain,
      heads: {
        get current() {
          return isHeadKnown ? chain.head : undefined;
        },
        onHead: () => () => undefined,
        look: () => undefined,
        lookIfIdle: () => undefined,
      },
      fees: chain.fees,
      gasBalance: new GasBalance(
        {
          balance,
          balanceByAll: () =>
            elsewhereWei === undefined ? balance() : Promise.resolve(elsewhereWei),
        } as unknown as LaneChain,
        SIGNER,
        clock,
      ),
      gasEstimates: { typical: GAS, raise: () => undefined },
    });
  }

  it.each<[string, () => void, LaneCondition | undefined]>([
    ['can', () => undefined, undefined],
    ['cannot pay for one settlement', () => (balanceWei = GAS * GWEI - 1n), 'no_gas'],
    ['can pay for one settlement exactly', () => (balanceWei = GAS * GWEI), undefined],
    ['does not know its balance', () => (balanceWei = 'away'), 'chain_unavailable'],
    [
      'finds gas above the cap',
      () => (chain.market = { ...chain.market, cap: 1n, leastTip: GWEI }),
      'gas_price_cap',
    ],
    ['has seen no block for long', () => (chain.timestamp -= 6), 'head_stale'],
    ['has a key that does not sign', () => (signer.isAvailable = false), 'signer_unavailable'],
  ])('%s', async (_, change, condition) => {
    change();
    state.condition = undefined;
    expect(await readiness.isReady()).toBe(condition === undefined);
    expect(state.condition).toBe(condition);
  });

  it.each<[string, number, LaneCondition | undefined]>([
    ['goes on: another endpoint has the same block as new', 0, undefined],
    ['rests: another endpoint has it as old, too', 6, 'head_stale'],
  ])('whose endpoint gives its newest block an old time %s', async (_, ageSeconds, condition) => {
    const { latest } = chain.head;
    chain.elsewhere = [{ ...latest, timestamp: latest.timestamp - ageSeconds }];
    chain.timestamp -= 600;
    expect(await readiness.isReady()).toBe(condition === undefined);
    expect(state.condition === 'head_stale').toBe(condition === 'head_stale');
  });

  it.each<[string, bigint, LaneCondition | undefined]>([
    ['goes on: another endpoint has more', GAS * GWEI, undefined],
    ['rests: the others have as little', GAS * GWEI - 1n, 'no_gas'],
  ])('whose endpoint gives it no money %s', async (_, wei, condition) => {
    balanceWei = 0n;
    elsewhereWei = wei;
    for (let reading = 0; reading < 3; reading += 1) {
      state.condition = undefined;
      expect(await readiness.isReady()).toBe(condition === undefined);
      expect(state.condition).toBe(condition);
      expect(readiness.canPayFor(GAS)).toBe(condition === undefined);
      await clock.pass(2000);
      await turns();
      chain.timestamp = Math.floor(clock.now() / 1000);
    }
  });

  it('whose endpoint gives it what one typical settlement costs pays for more: another one has it', async () => {
    balanceWei = (GAS * GWEI * 11n) / 10n;
    elsewhereWei = 10n ** 18n;
    expect(await readiness.isReady()).toBe(true);
    expect(readiness.canPayFor((GAS * 12n) / 10n)).toBe(false);
    await turns();
    expect(readiness.canPayFor((GAS * 12n) / 10n)).toBe(true);
  });

  it('asks all endpoints for its money at most every two seconds', async () => {
    await readiness.isReady();
    for (let again = 0; again < 5; again += 1) {
      expect(readiness.canPayFor(10n ** 18n)).toBe(false);
      await turns();
    }
    expect(reads).toBe(2);
    await clock.pass(2000);
    expect(readiness.canPayFor(10n ** 18n)).toBe(false);
    expect(reads).toBe(3);
  });

  it('whose endpoint gives a made-up block an old time goes on', async () => {
    const { latest } = chain.head;
    chain.elsewhere = [{ ...latest, hash: SIGNER }];
    chain.timestamp -= 600;
    expect(await readiness.isReady()).toBe(true);
  });

  it('says nothing of an old head where a chain mines on demand', async () => {
    headMaxAgeMs = 0;
    chain.timestamp -= 86_400;
    expect(await aReadiness().isReady()).toBe(true);
  });

  it('rests for half a second after a failure, and is well by itself', async () => {
    chain.timestamp -= 6;
    expect(await readiness.isReady()).toBe(false);
    chain.timestamp += 6;
    expect(await readiness.isReady()).toBe(false);
    await clock.pass(500);
    expect(await readiness.isReady()).toBe(true);
    expect(state.condition).toBeUndefined();
  });

  it.each<[string, () => void]>([
    ['is paused', () => (state.isPaused = true)],
    ['knows no block yet', () => (isHeadKnown = false)],
  ])('asks the chain for nothing while it %s', async (_, change) => {
    change();
    expect(await readiness.isReady()).toBe(false);
    expect(reads).toBe(0);
  });

  it('reads its balance every two seconds, and goes on without for fifteen', async () => {
    await readiness.isReady();
    await readiness.isReady();
    expect(reads).toBe(1);
    balanceWei = 'away';
    headMaxAgeMs = 0;
    await clock.pass(2000);
    expect(await readiness.isReady()).toBe(true);
    expect(reads).toBe(2);
    await clock.pass(13_000);
    chain.timestamp = Math.floor(clock.now() / 1000);
    expect(await readiness.isReady()).toBe(false);
    expect(state.condition).toBe('chain_unavailable');
  });

  it('counts what its attempts in flight may cost against its money', async () => {
    balanceWei = 3n * GAS * GWEI;
    await readiness.isReady();
    expect(readiness.settlementsLeft()).toBe(3);
    const transaction: SignedTransaction = {
      hash: '0x',
      raw: '0x',
      maxFeePerGas: 2n * GWEI,
      maxPriorityFeePerGas: GWEI,
      gas: GAS,
      signedAt: 0,
      isNoop: false,
    };
    const attempt: Attempt = {
      accountNonce: 0,
      kind: 'single',
      settlementIds: [],
      transactions: [transaction],
      allocatedAtBlock: 0n,
    };
    state.allocated(new TrackedAttempt({ attempt, payments: new Map(), atBlock: 0n, nowMs: 0 }));
    expect(readiness.settlementsLeft()).toBe(1);
    expect([GAS, GAS + 1n].map((gas) => readiness.canPayFor(gas))).toEqual([true, false]);
  });

  it('shows itself to a simulation as its next transaction will be', async () => {
    expect(readiness.asSender()).toEqual({ address: SIGNER, gasPriceWei: 0n, balanceWei: 0n });
    await readiness.isReady();
    expect(readiness.asSender()).toEqual({
      address: SIGNER,
      gasPriceWei: GWEI,
      balanceWei: 10n ** 18n,
    });
  });
});
