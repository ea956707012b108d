import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { anAcceptedPayment } from '../../test/builders/protocol/payment/accepted-payment.js';
import { anAcceptedUpto, UPTO_LANE } from '../../test/builders/protocol/schemes/upto/upto.js';
import type { EvmChain } from '../platform/chain/evm-chain.js';
import { Admission } from './admission.js';
import type { PublishedStatus } from './ledger/queries/lane-queries.js';

const OTHER: Address = `0x${'0d'.repeat(20)}`;
const chain = { newestBlockTime: undefined } as unknown as EvmChain;

const aLane = (signer: Address, more: Partial<PublishedStatus> = {}): PublishedStatus =>
  ({ signer, inclusionMs: 500, perSecond: 10, silentMs: 1, ...more }) as PublishedStatus;

const refusal = (payment: Parameters<Admission['refusal']>[0], ...lanes: PublishedStatus[]) =>
  new Admission({ live: () => Promise.resolve(lanes) }, { headMaxAgeMs: 0 }).refusal(
    payment,
    chain,
  );

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
