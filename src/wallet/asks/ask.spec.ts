import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { Secret } from '../../platform/config/secret.js';
import { RecordSeal } from '../seal/record-seal.js';
import { type Ask, AskTexts, renewAnswer, statementOf, usedText } from './ask.js';

const address = (byte: string): Address => `0x${byte.repeat(20)}`;
const ask: Ask = {
  v: 1,
  id: 'A'.repeat(22),
  owner: address('a1'),
  wallet: address('b2'),
  intentId: 'weather',
  request: 'digest',
  url: 'https://shop.example/a?b=c',
  method: 'GET',
  chainId: 97,
  asset: address('c3'),
  payTo: address('d4'),
  amount: 1_500_000n,
  symbol: 'USDX',
  decimals: 6,
  list: undefined,
  askAbove: 1_000_000n,
  revision: 3,
  at: 1_800_000_000,
  until: 1_800_003_600,
};
const texts = (secret: string) =>
  new AskTexts(
    new RecordSeal({ sealSecret: { current: new Secret(secret), previous: undefined } }),
  );
const ours = texts('a-seal-secret-of-at-least-32-characters');

describe('an ask as text', () => {
  it.each(['waiting', 'approved', 'denied'] as const)('is read as it was written: %s', (state) => {
    expect(ours.read(ask.id, ours.write(state, ask))).toEqual({ ask, state });
  });

  it('is read as used once a charge is named in it', () => {
    const text = usedText(ours.write('approved', ask), '97:0xabc:ff');
    expect(ours.read(ask.id, text)).toEqual({ ask, state: 'used' });
  });

  it('has nothing that tells what is bought', () => {
    expect(ours.write('waiting', ask)).not.toMatch(/shop|weather|d4d4/);
  });

  it.each(['approved', 'denied'] as const)('is sealed again, and keeps its state: %s', (state) => {
    const [old, next] = [
      'a-seal-secret-of-at-least-32-characters',
      'the-next-seal-secret-of-32-char',
    ];
    const both = { current: new Secret(next), previous: new Secret(old) };
    const seal = new RecordSeal({ sealSecret: both });
    const renewed = renewAnswer(seal, ask.id, state === 'denied', ours.write(state, ask));
    expect(texts(next).read(ask.id, renewed)).toEqual({ ask, state });
    expect(ours.read(ask.id, renewed)).toBeUndefined();
  });

  it('cannot be turned into a yes, or into another ask, by a writer of Redis', () => {
    const waiting = ours.write('waiting', ask);
    for (const state of ['a', 'u', 'd']) {
      expect(ours.read(ask.id, waiting.replace(/^w/, state))).toBeUndefined();
    }
    expect(ours.read(ask.id, ours.write('denied', ask).replace(/^d/, 'a'))).toBeUndefined();
    expect(ours.read('B'.repeat(22), ours.write('approved', ask))).toBeUndefined();
    const theirs = texts('another-secret-of-at-least-32-characters');
    expect(ours.read(ask.id, theirs.write('approved', ask))).toBeUndefined();
    for (const text of ['', 'a|/', 'a', 'x|/1.2.3'])
      expect(ours.read(ask.id, text)).toBeUndefined();
  });
});

describe('what an owner signs', () => {
  it('is one line that names all of the payment, each part of which changes it', () => {
    const statement = statementOf(ask);
    expect(statement).toBe(
      `Pay at most 1.5 USDX (1500000 of ${ask.asset} on eip155:97) to ${ask.payTo}, once, ` +
        `until 2027-01-15T09:00:00.000Z, for GET https://shop.example/a?b=c. ` +
        `Purchase "weather", request ${ask.id}.`,
    );
    const others: readonly Partial<Ask>[] = [
      { amount: 1_500_001n },
      { payTo: address('d5') },
      { asset: address('c4') },
      { chainId: 56 },
      { url: 'https://shop.example/a?b=d' },
      { method: 'POST' },
      { intentId: 'weather-2' },
      { until: ask.until + 1 },
      { id: 'C'.repeat(22) },
    ];
    for (const other of others) expect(statementOf({ ...ask, ...other })).not.toBe(statement);
  });
});
