import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import { LeaseLostError } from '../../../../src/protocol/errors.js';
import type { HeldLane, LaneLedger } from '../../../../src/settlement/ledger/lane-store.js';
import type { RefillBudget, RefillStore } from '../../../../src/settlement/ledger/refill-store.js';
import type { Attempt } from '../../../../src/settlement/model/attempt.js';
import type { LaneStoreHarness } from './lane-store-contract.js';

export interface RefillStoreHarness extends LaneStoreHarness {
  readonly refills: RefillStore;
}

const CHAIN = 56;
const GWEI = 10n ** 9n;
const LANE = `${CHAIN}:0x${'aa'.repeat(20)}`;
const TO: Address = `0x${'bb'.repeat(20)}`;
const DAY = '2026-11-21';
const LEASE_MS = 60_000;

const hashOf = (n: number): Hex => `0x${n.toString(16).padStart(64, '0')}`;
const aRefill = (accountNonce: number, ...hashes: number[]): Attempt => ({
  accountNonce,
  kind: 'refill',
  settlementIds: [],
  allocatedAtBlock: 5n,
  refill: { to: TO, valueWei: 7n * GWEI },
  transactions: hashes.map((n) => ({
    hash: hashOf(n),
    raw: '0x02',
    gas: 21_000n,
    isNoop: false,
    signedAt: 1_795_000_000_000,
    maxFeePerGas: GWEI,
    maxPriorityFeePerGas: GWEI,
  })),
});
const aBudget = (costGwei: bigint, laneGwei = 100n, day = DAY): RefillBudget => ({
  costGwei,
  laneGwei,
  day,
});

/**
 * What every ledger promises to a treasury beyond what it promises to lanes.
 *
 * @param start - an empty ledger.
 */
export function refillStoreContract(name: string, start: () => Promise<RefillStoreHarness>): void {
  describe(`${name} as a treasury uses it`, () => {
    let harness: RefillStoreHarness;
    let store: LaneLedger;
    let refills: RefillStore;
    let held: HeldLane;

    beforeEach(async () => {
      harness = await start();
      ({ store, refills } = harness);
      held = await acquire('p1');
      await store.leases.setNext(held, undefined, 0);
    });

    async function acquire(processId: string): Promise<HeldLane> {
      const acquired = await store.leases.acquire(LANE, CHAIN, processId, LEASE_MS);
      if (acquired === undefined) throw new Error('the lane is not free');
      return acquired;
    }
    const spent = async (day = DAY) => (await refills.refillRecord(held, day)).spentGwei;

    it('keeps nonce, bytes and charge in one step, and hands them to the next writer', async () => {
      expect(await refills.refillRecord(held, DAY)).toEqual({ spentGwei: 0n, last: undefined });
      expect(await refills.refill(held, aRefill(0, 1), aBudget(90n))).toEqual({ kind: 'ok' });
      const { next, attempts } = await store.leases.open(held);
      expect({ next, attempts }).toEqual({ next: 1, attempts: [aRefill(0, 1)] });
      const last = { to: TO, valueWei: '7000000000', accountNonce: 0, at: 1_795_000_000_000 };
      expect(await refills.refillRecord(held, DAY)).toEqual({ spentGwei: 90n, last });
      expect(await harness.spentOn(CHAIN, LANE, DAY)).toBe(90n);
    });

    it('charges once when the reply was lost and the step is repeated', async () => {
      await refills.refill(held, aRefill(0, 1), aBudget(90n));
      const again = await refills.refill(held, aRefill(0, 1), aBudget(90n));
      expect(['ok', 'nonce']).toContain(again.kind);
      expect(await spent()).toBe(90n);
    });

    it('sends nothing while something is not final', async () => {
      await refills.refill(held, aRefill(0, 1), aBudget(10n));
      expect(await refills.refill(held, aRefill(1, 2), aBudget(10n))).toEqual({
        kind: 'in_flight',
      });
      expect([(await store.leases.open(held)).next, await spent()]).toEqual([1, 10n]);
      await store.attempts.closeAttempt(held, 0, 10n * GWEI);
      expect(await refills.refill(held, aRefill(1, 2), aBudget(10n))).toEqual({ kind: 'ok' });
    });

    it('never goes a unit beyond the cap of a day, for a replacement neither', async () => {
      const full = { kind: 'budget', subject: 'lane' };
      expect(await refills.refill(held, aRefill(0, 1), aBudget(101n))).toEqual(full);
      expect([(await store.leases.open(held)).attempts, await spent()]).toEqual([[], 0n]);
      await refills.refill(held, aRefill(0, 1), aBudget(90n));
      const dearer = { ...aBudget(101n), payeeGwei: undefined };
      expect(await store.attempts.replace(held, aRefill(0, 1, 2), dearer)).toEqual(full);
      const dear = { ...aBudget(100n), payeeGwei: undefined };
      expect(await store.attempts.replace(held, aRefill(0, 1, 2), dear)).toEqual({ kind: 'ok' });
      expect(await spent()).toBe(100n);
      // Released is what it did not cost, once its nonce is final.
      await store.attempts.closeAttempt(held, 0, 60n * GWEI);
      expect(await spent()).toBe(60n);
      expect(await refills.refill(held, aRefill(1, 3), aBudget(41n))).toEqual(full);
      expect(await refills.refill(held, aRefill(1, 3), aBudget(40n))).toEqual({ kind: 'ok' });
    });

    it('charges a replacement after midnight to the day of the first bytes', async () => {
      await refills.refill(held, aRefill(0, 1), aBudget(50n));
      const next = { ...aBudget(80n, 100n, '2026-11-22'), payeeGwei: undefined };
      await store.attempts.replace(held, aRefill(0, 1, 2), next);
      expect([await spent(), await spent('2026-11-22')]).toEqual([80n, 0n]);
    });

    it('sends nothing at another nonce, while it is paused, or for another process', async () => {
      expect(await refills.refill(held, aRefill(4, 1), aBudget(1n))).toEqual({ kind: 'nonce' });
      await harness.switch('paused', LANE);
      expect(await refills.refill(held, aRefill(0, 1), aBudget(1n))).toEqual({ kind: 'paused' });
      await store.leases.release(held);
      await acquire('p2');
      await expect(refills.refill(held, aRefill(0, 1), aBudget(1n))).rejects.toThrow(
        LeaseLostError,
      );
      expect(await spent()).toBe(0n);
    });

    it('answers a refill again that was taken before its treasury was paused', async () => {
      expect(await refills.refill(held, aRefill(0, 1), aBudget(1n))).toEqual({ kind: 'ok' });
      await harness.switch('paused', LANE);
      expect(await refills.refill(held, aRefill(0, 1), aBudget(1n))).toEqual({ kind: 'ok' });
      expect(await spent()).toBe(1n);
    });

    it('charges the day again in a ledger that went back', async () => {
      const remembered = [{ attempt: aRefill(0, 1), payments: new Map() }];
      for (let time = 0; time < 2; time += 1) {
        await store.leases.restoreAttempts(held, remembered, 1);
        expect((await store.leases.open(held)).attempts).toEqual([aRefill(0, 1)]);
      }
      // 7 gwei and 21 000 gas at 1 gwei, for the day on which it was signed.
      expect(await spent(new Date(1_795_000_000_000).toISOString().slice(0, 10))).toBe(21_007n);
    });
  });
}
