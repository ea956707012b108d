import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import type { EvmChain } from '../platform/chain/evm-chain.js';
import { Partitions } from '../platform/redis/partitions.js';
import {
  anAcceptedPayment,
  anEip3009Authorization,
} from '../protocol/payment/accepted-payment.builder.js';
import { anAcceptedUpto, UPTO_LANE } from '../protocol/schemes/upto/upto.builder.js';
import { Admission } from './admission.js';
import type { PublishedStatus } from './ledger/queries/lane-queries.js';

const OTHER: Address = `0x${'0d'.repeat(20)}`;
const chain = { bestHead: undefined } as unknown as EvmChain;

const aLane = (signer: Address, more: Partial<PublishedStatus> = {}): PublishedStatus =>
  ({ signer, inclusionMs: 500, perSecond: 10, silentMs: 1, ...more }) as PublishedStatus;

const refusal = (payment: Parameters<Admission['refusal']>[0], ...lanes: PublishedStatus[]) =>
  new Admission({ live: () => Promise.resolve(lanes) }, 0).refusal(payment, chain);

describe('Admission by partition', () => {
  const LANE_OF_THEIRS: Address = `0x${'0'.repeat(39)}1`;
  const ELSEWHERE: Address = `0x${'0'.repeat(39)}2`;
  const split = new Partitions(new Map([[56, 16]]));
  const admissionOf = (...lanes: PublishedStatus[]): Admission =>
    new Admission({ live: () => Promise.resolve(lanes) }, 0, split);

  it('asks the lanes that settle for the payer, whatever the others have', async () => {
    const poor = aLane(LANE_OF_THEIRS, { trouble: 'no_gas' });
    const payment = anAcceptedPayment();
    expect(payment.authorization.from.endsWith('1')).toBe(true);
    expect(await admissionOf(poor, aLane(ELSEWHERE)).refusal(payment, chain)).toBe('no_gas');
    const other = aLane(ELSEWHERE, { trouble: 'no_gas' });
    expect(await admissionOf(aLane(LANE_OF_THEIRS), other).refusal(payment, chain)).toBeUndefined();
    expect(await admissionOf(other).refusal(payment, chain)).toBeUndefined();
  });

  it('counts what waits there alone, and how fast it goes there', async () => {
    const lanes = [aLane(LANE_OF_THEIRS), aLane(ELSEWHERE, { perSecond: 1000 })];
    const soon = Math.floor(Date.now() / 1000) + 30;
    const payment = anAcceptedPayment({
      authorization: anEip3009Authorization({ validBefore: BigInt(soon) }),
    });
    const theirs = anEip3009Authorization({ from: `0x${'0'.repeat(39)}2` });
    const admission = admissionOf(...lanes);
    admission.noteQueued({ ...payment, authorization: theirs }, 100_000);
    expect(await admission.refusal(payment, chain)).toBeUndefined();
    admission.noteQueued(payment, 1000);
    expect(await admission.refusal(payment, chain)).toBe('deadline_too_close');
    expect(await admission.retryAfterSeconds(payment, 400)).toBe(10);
  });
});

describe('Admission by lane', () => {
  const poor = { trouble: 'no_gas' } as const;

  it('asks the only lane that may send it, whatever the others have', async () => {
    const bound = anAcceptedUpto();
    const free = anAcceptedPayment();
    const lanes = [aLane(UPTO_LANE, poor), aLane(OTHER)];
    expect(await refusal(bound, ...lanes)).toBe('no_gas');
    expect(await refusal(free, ...lanes)).toBeUndefined();
    expect(await refusal(bound, aLane(UPTO_LANE), aLane(OTHER, poor))).toBeUndefined();
  });

  it('counts no lane on its way out for what any lane may send', async () => {
    const lanes = [aLane(UPTO_LANE, { isRetiring: true }), aLane(OTHER, poor)];
    expect(await refusal(anAcceptedPayment(), ...lanes)).toBe('no_gas');
    expect(await refusal(anAcceptedUpto(), ...lanes)).toBeUndefined();
  });

  it('lets it wait for a lane that says nothing at the moment', async () => {
    expect(await refusal(anAcceptedUpto(), aLane(OTHER, poor))).toBeUndefined();
  });
});
