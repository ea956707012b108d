import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  anEip3009Payment,
  PAYER,
} from '../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { MemorySimulationStore } from '../../../test/twins/facilitator/simulation/memory-simulation-store.js';
import { parsePayment, readEnvelope } from '../../protocol/payment/parse-payment.js';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import type { ReadRequest } from '../refusal.js';
import { SILENT_MS, simulatedHashOf, type SimulatedOutcome, SLOW_MS } from './outcomes.js';
import { SimulatedSettles, type SimulationTerms } from './simulated-settles.js';

const CONNECTION = { closed: new Promise<void>(() => undefined), isWritable: true };

function requestOf(version: 1 | 2, network?: string, signed: JsonObject = {}): ReadRequest {
  const name = network ?? { 1: 'bsc-testnet', 2: 'eip155:97' }[version];
  const named = { network: name };
  const { body } = anEip3009Payment({ version, signed, requirements: named, accepted: named });
  const envelope = readEnvelope(body);
  if (envelope === undefined) throw new Error('no envelope');
  const versions = [1, 2] as const;
  return { envelope, versions, parsed: parsePayment(envelope, versions, () => true, 'settle') };
}

const CHAINS = { all: [{ chainId: 97 }] };

describe('a simulated settle', () => {
  let settles: SimulatedSettles;

  beforeEach(() => {
    jest.useFakeTimers();
    settles = new SimulatedSettles(new MemorySimulationStore(), CHAINS);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const settle = (
    outcome: SimulatedOutcome,
    more: Partial<SimulationTerms> = {},
    request = requestOf(2),
  ) =>
    settles.settle(request, {
      outcome,
      caller: 'shop',
      keyTag: '',
      isAsync: false,
      finality: 'included',
      connection: CONNECTION,
      ...more,
    });
  const look = async (id = '') => settles.byId(id);

  it.each<[SimulatedOutcome, 1 | 2, string]>([
    ['pending', 2, 'settlement_pending'],
    ['pending', 1, 'settlement_pending'],
    ['reverted', 2, 'invalid_exact_evm_transaction_failed'],
    ['expired', 2, 'invalid_exact_evm_payload_authorization_valid_before'],
    ['duplicate', 1, 'duplicate_settlement'],
  ])('%s of V%i is answered as a real one', async (outcome, version, reason) => {
    const request = requestOf(version);
    const answer = await settle(outcome, {}, request);
    const id = answer?.settlementId ?? '';
    expect(answer).toMatchObject({ status: 200, finality: 'included' });
    expect(answer?.body).toMatchObject({
      success: false,
      errorReason: reason,
      payer: PAYER,
      network: version === 1 ? 'bsc-testnet' : 'eip155:97',
      transaction: simulatedHashOf(id),
      extensions: { diagnosis: { docs: `docs/errors.md#${reason}` } },
    });
    expect(answer?.body.errorMessage?.length).toBeGreaterThan(10);
    expect((await look(id))?.source).toBe('simulation');
  });

  it('that is pending lands, and is sold once', async () => {
    const first = await settle('pending');
    const id = first?.settlementId;
    expect(await look(id)).toMatchObject({ state: 'broadcast', paid: false, sale: 'open' });
    expect((await settle('pending'))?.body.errorReason).toBe('settlement_pending');
    await jest.advanceTimersByTimeAsync(7000);
    expect(await look(id)).toMatchObject({ state: 'finalized', paid: true, sale: 'open' });
    const answers = await Promise.all([settle('pending'), settle('pending')]);
    expect(answers.map((answer) => answer?.body.success).sort()).toEqual([false, true]);
    expect(answers.map((answer) => answer?.body.transaction)).toEqual([
      first?.body.transaction,
      first?.body.transaction,
    ]);
    expect((await settle('pending'))?.body.errorReason).toBe('duplicate_settlement');
    expect(await look(id)).toMatchObject({ sale: 'sold' });
  });

  it('is answered again to the same key, and is free again when its sale is rolled back', async () => {
    const sold = await settle('reorg', { keyTag: 'order' });
    expect(sold?.body.success).toBe(true);
    expect((await settle('reorg', { keyTag: 'order' }))?.body.success).toBe(true);
    expect((await settle('reorg'))?.body.errorReason).toBe('duplicate_settlement');
    await sold?.rollBack?.();
    expect((await settle('reorg'))?.body.success).toBe(true);
  });

  it('that meets a reorg is success first, then gone, and never comes again', async () => {
    const answer = await settle('reorg');
    const id = answer?.settlementId;
    expect(answer?.body).toMatchObject({ success: true, extra: { settlementId: id } });
    expect(await look(id)).toMatchObject({ state: 'included', paid: true });
    await jest.advanceTimersByTimeAsync(6000);
    expect(await look(id)).toMatchObject({ state: 'broadcast', paid: false, sale: 'sold' });
    await jest.advanceTimersByTimeAsync(30_000);
    expect(await look(id)).toMatchObject({ state: 'expired', paid: false, sale: 'sold' });
  });

  it('that is slow is a success after its time', async () => {
    let answer: unknown;
    void settle('slow').then((slow) => (answer = slow));
    await jest.advanceTimersByTimeAsync(SLOW_MS - 1);
    expect(answer).toBeUndefined();
    await jest.advanceTimersByTimeAsync(1);
    expect(answer).toMatchObject({ status: 200, body: { success: true } });
  });

  it('that times out is silent for its time and no longer, and was paid all the same', async () => {
    let isOver = false;
    const silent = settle('timeout').then((answer) => {
      isOver = true;
      return answer;
    });
    await jest.advanceTimersByTimeAsync(SILENT_MS - 1);
    expect(isOver).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(await silent).toBeUndefined();
    expect((await settle('timeout'))?.body.success).toBe(true);
  });

  it('ends its wait when the process or the connection ends', async () => {
    const hungUp = settle('timeout', {
      connection: { closed: Promise.resolve(), isWritable: false },
    });
    expect(await hungUp).toBeUndefined();
    const slow = settle('slow');
    settles.stop();
    expect((await slow)?.body.errorReason).toBe('settlement_pending');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is accepted by a 202', async () => {
    const answer = await settle('reverted', { isAsync: true });
    expect(answer).toMatchObject({ status: 202, body: { success: false } });
    expect((await settle('reverted'))?.body.errorReason).toBe('duplicate_settlement');
  });

  it('of other terms is a duplicate', async () => {
    await settle('reorg');
    const other = requestOf(2, 'eip155:97', { value: '77' });
    expect((await settle('reorg', {}, other))?.body.errorReason).toBe('duplicate_settlement');
  });

  it('of one API key is none of another', async () => {
    expect((await settle('reorg'))?.body.success).toBe(true);
    expect((await settle('reorg', { caller: 'other' }))?.body.success).toBe(true);
  });

  it('of what cannot be read is refused as a real one', async () => {
    const read = requestOf(2);
    const parsed = parsePayment(read.envelope, [1], () => true, 'settle');
    const answer = await settle('reorg', {}, { ...read, versions: [1], parsed });
    expect(answer?.body).toMatchObject({ success: false, errorReason: 'invalid_x402_version' });
  });

  it.each<[string, Partial<SimulationTerms>, string | undefined, RegExp]>([
    ['on a main network', {}, 'eip155:56', /test networks only/],
    [
      'of a reorg of what is final',
      { finality: 'finalized' },
      undefined,
      /reorg needs Settle-Finality: included/,
    ],
  ])('%s is refused, and says why', async (_, terms, network, message) => {
    await expect(settle('reorg', terms, requestOf(2, network))).rejects.toThrow(message);
  });

  it('has a bound for each API key: of those kept, and of those that wait', async () => {
    const store = new MemorySimulationStore();
    const begin = jest.spyOn(store, 'begin').mockResolvedValue('full');
    settles = new SimulatedSettles(store, CHAINS);
    await expect(settle('reorg')).rejects.toThrow(/too many/);
    begin.mockRestore();
    const waiting = Array.from({ length: 64 }, () => settle('slow'));
    await jest.advanceTimersByTimeAsync(1);
    await expect(settle('slow')).rejects.toThrow(/too many/);
    await jest.advanceTimersByTimeAsync(SLOW_MS);
    const allAnswers = await Promise.all(waiting);
    expect(allAnswers.filter((answer) => answer?.body.success === true)).toHaveLength(1);
  });
});
