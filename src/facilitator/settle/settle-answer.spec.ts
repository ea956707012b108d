import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { aSettlementView } from '../../../test/builders/settlement/model/settlement-view.js';
import type { Reason } from '../../protocol/reasons.js';
import type { Finality, SettlementState } from '../../settlement/model/settlement.js';
import { SettleAnswers } from './settle-answer.js';

const TX: Hex = `0x${'5f'.repeat(32)}`;
const PAYER = '0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B';

const answersTo = (payerAsSent: string | undefined = PAYER, finality: Finality = 'included') =>
  new SettleAnswers({ networkAsSent: 'bsc', payerAsSent }, finality, undefined).of('claim');
const rollBack = (): Promise<void> => Promise.resolve();

describe('the answer to a settle', () => {
  it.each<[Reason, number, number | undefined]>([
    ['settlement_pending', 200, undefined],
    ['settlement_not_sent', 200, undefined],
    ['duplicate_settlement', 200, undefined],
    ['network_unavailable', 200, undefined],
    ['queue_full', 200, 7],
    ['idempotency_key_conflict', 409, undefined],
    ['unauthorized', 401, undefined],
    ['rate_limited', 429, 3],
  ])('%s has status %i, and strings wherever the client reads them', (reason, status, seconds) => {
    const answer = answersTo().failure(reason, undefined, seconds);
    expect(answer).toMatchObject({
      status,
      body: {
        success: false,
        errorReason: reason,
        transaction: '',
        network: 'bsc',
        payer: PAYER,
      },
    });
    expect(answer.body.errorMessage?.length).toBeGreaterThan(10);
    expect(answer.retryAfterSeconds).toBe(seconds);
    expect(answer.rollBack).toBeUndefined();
  });

  it('names the hash wherever one is known', () => {
    const hashes = [
      answersTo().pending(TX),
      answersTo().failure('duplicate_settlement', TX),
      answersTo().accepted({ id: 'claim', transaction: TX }, rollBack),
      answersTo().success(aSettlementView({ transaction: TX, isPaid: true }), rollBack),
    ].map(({ body }) => body.transaction);
    expect(hashes).toEqual([TX, TX, TX, TX]);
  });

  it('to a payment that a stranger presented says by which transaction its payee was paid', () => {
    const foreign = aSettlementView({
      state: 'foreign',
      isPaid: false,
      transaction: TX,
      logIndex: 3,
    });
    const used = 'permit2_invalid_nonce';
    expect(answersTo().failed(foreign, used)).toMatchObject({ paidBy: TX });
    for (const other of [{ logIndex: undefined }, { state: 'reverted' as const }]) {
      expect(answersTo().failed({ ...foreign, ...other }, used)).not.toHaveProperty('paidBy');
    }
  });

  it('names no payer that could not be read, and the claim once there is one', () => {
    const answers = new SettleAnswers(
      { networkAsSent: '', payerAsSent: undefined },
      'included',
      undefined,
    );
    const answer = answers.failure('invalid_payload');
    expect('payer' in answer.body).toBe(false);
    expect(answer).toMatchObject({ settlementId: undefined, body: { network: '' } });
    expect(answers.of('claim').pending(TX).settlementId).toBe('claim');
  });

  it.each<[SettlementState, Finality, Finality]>([
    // It speaks at the certainty it has, whatever was asked for.
    ['included', 'finalized', 'included'],
    ['finalized', 'included', 'finalized'],
    ['foreign', 'included', 'finalized'],
  ])('of success in state %s, asked for at %s, speaks of %s', (state, asked, shown) => {
    const view = aSettlementView({ state, isPaid: true, transaction: TX });
    expect(answersTo(PAYER, asked).success(view, rollBack).finality).toBe(shown);
  });

  it('of success carries where the payment is, and how to take it back', () => {
    const view = aSettlementView({ state: 'included', isPaid: true, logIndex: 0, batchSize: 3 });
    const answer = answersTo().success(view, rollBack);
    expect(answer.body).toMatchObject({
      success: true,
      extra: { settlementId: 'claim', logIndex: 0, batchSize: 3 },
    });
    expect(answer.rollBack).toBe(rollBack);
    const again = answersTo().success(aSettlementView({ isPaid: true }), undefined);
    expect(again.body.extra).toEqual({ settlementId: 'claim' });
    expect('rollBack' in again).toBe(false);
  });

  it('that hands a claim out is no success: nothing is known of it yet', () => {
    expect(answersTo().accepted({ id: 'claim' }, rollBack)).toMatchObject({
      status: 202,
      rollBack,
      body: { success: false, transaction: '', extra: { settlementId: 'claim' } },
    });
  });
});
