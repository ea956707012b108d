import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Address } from 'viem';
import { CodeConduct } from './code-conduct.js';

const TOKEN: Address = `0x${'11'.repeat(20)}`;
const TRUSTED: Address = `0x${'22'.repeat(20)}`;
const PAYER: Address = `0x${'33'.repeat(20)}`;

describe('how code is served', () => {
  let conduct: CodeConduct;

  beforeEach(() => {
    jest.useFakeTimers();
    conduct = new CodeConduct();
    conduct.trust([TRUSTED]);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const kindOf = (contract: Address, payer?: Address): string =>
    conduct.trafficOf(contract, payer).kind;

  it('is with everybody else once it has shown that it behaves, or where it is trusted', () => {
    expect([kindOf(TOKEN), kindOf(TRUSTED)]).toEqual(['new', 'open']);
    conduct.noteGood(TOKEN);
    expect(kindOf(TOKEN)).toBe('open');
  });

  it('is apart for a while after it burnt gas, whatever good it does meanwhile', () => {
    conduct.noteGood(TOKEN);
    conduct.noteBurn(TOKEN);
    conduct.noteGood(TOKEN);
    expect(kindOf(TOKEN)).toBe('marked');
    jest.advanceTimersByTime(10 * 60_000 + 1);
    expect(kindOf(TOKEN)).toBe('new');
  });

  it('blames the wallet of the payer where the token is trusted', () => {
    conduct.noteBurn(TRUSTED, PAYER);
    expect([kindOf(TRUSTED), kindOf(TRUSTED, PAYER)]).toEqual(['open', 'marked']);
  });

  it('blames no trusted code, and no trusted account named beside it', () => {
    conduct.trust([PAYER]);
    conduct.noteBurn(TRUSTED, PAYER);
    expect([kindOf(TRUSTED, PAYER), kindOf(PAYER)]).toEqual(['open', 'open']);
  });

  it('is new where it comes to life in the call itself, however well the token behaves', () => {
    conduct.noteGood(TOKEN);
    const ofPayer = conduct.trafficOf(TRUSTED, PAYER, true);
    expect(ofPayer).toEqual({ kind: 'new', subject: PAYER });
    // An unknown token may have any number of payers: they wait behind each other.
    expect(conduct.trafficOf(TOKEN, PAYER, true)).toEqual({ kind: 'new', subject: TOKEN });
    conduct.noteBurn(TRUSTED, PAYER);
    expect(conduct.trafficOf(TRUSTED, PAYER, true)).toEqual({ kind: 'marked', subject: PAYER });
  });

  it('remembers a bounded number', () => {
    conduct.noteBurn(TOKEN);
    for (let count = 0; count < 16_384; count += 1) {
      conduct.noteBurn(`0x${count.toString(16).padStart(40, '0')}`);
    }
    expect(kindOf(TOKEN)).toBe('new');
  });
});
