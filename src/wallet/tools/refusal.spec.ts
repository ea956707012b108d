import { describe, expect, it } from '@jest/globals';
import { ChainUnavailableError, RedisUnavailableError } from '../../protocol/errors.js';
import { WalletError } from '../wallet-error.js';
import { adviceOn, refusalOf } from './refusal.js';

const URL = 'https://wallet.example';

describe('a refusal', () => {
  it('names the rule, and who changes it how', () => {
    const error = WalletError.refused({ rule: 'budget', message: 'Too much.' });
    const { howToChange, ...rest } = refusalOf(error, URL);
    expect(rest).toEqual({ error: 'Too much.', code: 'policy_violation', rule: 'budget' });
    expect(howToChange).toMatch(
      /^The owner .*PUT https:\/\/wallet\.example\/v1\/wallets\/me\/policy.*"budget"/,
    );
  });

  it('tells an agent that its own limit is its own', () => {
    expect(adviceOn('max_amount', URL).howToChange).toMatch(/"maxAmount" of this request/);
  });

  it.each(['unsignable', 'validity', 'nonce_reused', 'toString', ''])(
    'promises no change of %s, which no owner can make',
    (rule) => {
      expect(adviceOn(rule, URL)).toEqual({});
    },
  );

  it('keeps the text of what failed inside to itself', () => {
    const cause = new Error('redis://user:secret@host');
    for (const [error, what] of [
      [new RedisUnavailableError('wallet_intent', cause), 'The wallet'],
      [new ChainUnavailableError(56, 'eth_call'), 'The chain'],
    ] as const) {
      const body = { error: `${what} is unavailable. Try again.`, code: 'unavailable' };
      expect(refusalOf(error, URL)).toEqual(body);
    }
  });
});
