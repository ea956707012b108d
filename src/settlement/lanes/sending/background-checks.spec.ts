import { describe, expect, it } from '@jest/globals';
import { anAcceptedPayment } from '../../../../test/builders/protocol/payment/accepted-payment.js';
import {
  CallNotSentError,
  ChainUnavailableError,
  CodeUnresponsiveError,
} from '../../../protocol/errors.js';
import type { Sendable } from '../../model/grouping.js';
import { BackgroundChecks } from './background-checks.js';
import type { PreflightResult } from './preflight-result.js';

const item: Sendable = { id: 's1', payment: anAcceptedPayment(), goesAlone: false };
const SENT: PreflightResult<Sendable> = {
  groups: [{ items: [item], gas: 1n }],
  refusals: [],
  undecided: [],
  blockNumber: 7n,
};

async function checked(check: () => Promise<PreflightResult<Sendable>>) {
  const errors: unknown[] = [];
  const result = await new Promise<readonly PreflightResult<Sendable>[]>((resolve) => {
    const checks = new BackgroundChecks<Sendable>({
      onDecided: () => {
        resolve(checks.takeDecided());
      },
      onError: (error) => errors.push(error),
    });
    expect(checks.start(item, check)).toBe(true);
  });
  return { result, errors };
}

describe('a settlement that is looked at beside the loop', () => {
  it('reports its result', async () => {
    expect((await checked(() => Promise.resolve(SENT))).result).toEqual([SENT]);
  });

  it('leaves the queue with an answer when its code does not answer three times', async () => {
    let count = 0;
    const { result } = await checked(() => {
      count += 1;
      return Promise.reject(new CodeUnresponsiveError(56, 'eth_call'));
    });
    expect(count).toBe(3);
    const reason = 'invalid_exact_evm_transaction_simulation_failed';
    expect(result).toMatchObject([{ refusals: [{ item, reason }], undecided: [] }]);
  });

  it.each([
    ['the chain could not be asked', new ChainUnavailableError(56, 'eth_call')],
    ['its calls found no turn', new CallNotSentError(56, 'eth_call')],
  ])('goes back to the queue when %s', async (_, error) => {
    const { result } = await checked(() => Promise.reject(error));
    expect(result).toMatchObject([{ refusals: [], undecided: [item] }]);
  });

  it('goes back to the queue when its code was silent less than three times', async () => {
    const errors = [new CallNotSentError(56, 'eth_call')];
    const { result } = await checked(() =>
      Promise.reject(errors.pop() ?? new CodeUnresponsiveError(56, 'eth_call')),
    );
    expect(result).toMatchObject([{ refusals: [], undecided: [item] }]);
  });

  it('goes back, and is reported, after what should not happen', async () => {
    const { result, errors } = await checked(() => Promise.reject(new TypeError('a slip')));
    expect(result).toMatchObject([{ undecided: [item] }]);
    expect(errors).toHaveLength(3);
  });

  it('reports nothing once the lane is reopened', async () => {
    let isDecided = false;
    const checks = new BackgroundChecks<Sendable>({
      onDecided: () => (isDecided = true),
      onError: () => undefined,
    });
    checks.start(item, () => Promise.resolve(SENT));
    checks.clear();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect([isDecided, checks.hasDecided]).toEqual([false, false]);
  });

  it('is one of a bounded number', () => {
    const checks = new BackgroundChecks<Sendable>({
      onDecided: () => undefined,
      onError: () => undefined,
    });
    const starts = Array.from({ length: 65 }, (_, index) =>
      checks.start({ ...item, id: `s${index}` }, () => new Promise(() => undefined)),
    );
    expect(starts.filter((isTaken) => !isTaken)).toHaveLength(1);
  });
});
