import { describe, expect, it } from '@jest/globals';
import { type Reason, REASONS } from '../reasons.js';
import {
  diagnosisOf,
  explain,
  explainPaidElsewhere,
  explainUnknownUse,
  MESSAGE_MAX_CHARACTERS,
} from './diagnosis.js';
import type { Finding } from './finding.js';

const REASON = 'permit2_amount_mismatch';
const MEANING = REASONS[REASON].meaning;
const GENERAL = { fault: 'buyer', retry: 'new-payment', docs: `docs/errors.md#${REASON}` };
const reasons = Object.keys(REASONS) as Reason[];

const whereOf = (finding: Finding): string => {
  const { message } = explain(REASON, finding);
  return message.replace(`${MEANING} `, '');
};

describe('the explanation of a refusal', () => {
  it('is the meaning of the reason where no place is known', () => {
    expect(explain(REASON)).toEqual({ message: MEANING, diagnosis: GENERAL });
  });

  it('says what was found out beyond the reason', () => {
    const cause = 'The call reverts with InvalidNonce.';
    expect(explain(REASON, undefined, cause)).toEqual({
      message: `${MEANING} ${cause}`,
      diagnosis: GENERAL,
    });
  });

  it('of a payment that was made elsewhere names its transaction, and advises no other payment', () => {
    const hash = `0x${'5f'.repeat(32)}`;
    const { message, diagnosis } = explainPaidElsewhere(REASON, hash);
    expect(message).toContain(hash);
    expect(message.length).toBeLessThanOrEqual(MESSAGE_MAX_CHARACTERS);
    expect(diagnosis).toEqual({ ...GENERAL, fault: 'seller', retry: 'never', transaction: hash });
  });

  it('advises no other payment where the transaction that used it is not known', () => {
    const { message, diagnosis } = explainUnknownUse(REASON);
    expect(message.length).toBeLessThanOrEqual(MESSAGE_MAX_CHARACTERS);
    expect(diagnosis).toEqual({ ...GENERAL, fault: 'chain', retry: 'same' });
  });

  it('names the place, what was expected and what came', () => {
    const finding = { path: 'a.b', expected: 'text', got: 7n };
    expect(explain(REASON, finding)).toEqual({
      message: `${MEANING} a.b: expected text, got 7.`,
      diagnosis: { path: 'a.b', expected: 'text', got: '7', ...GENERAL },
    });
  });

  it.each<[string, Finding, string]>([
    ['a value that is absent', { path: 'a', expected: 'b', got: undefined }, 'b, got nothing.'],
    [
      'a value of other forms',
      { path: 'a', expected: 'b', got: '<i>' },
      'b, got text of 3 characters.',
    ],
    ['no value', { path: 'a', expected: 'b' }, 'b.'],
    ['a remedy', { path: 'a', expected: 'b', got: 1, fix: 'Do c.' }, 'b, got 1. Do c.'],
    ['a remedy alone', { path: 'a', expected: 'b', fix: 'Do c.' }, 'b. Do c.'],
  ])('says of %s', (_, finding, expected) => {
    expect(whereOf(finding)).toBe(`a: expected ${expected}`);
  });

  it('has no value in its data where none was found', () => {
    const { diagnosis } = explain(REASON, { path: 'a', expected: 'b', fix: 'Do c.' });
    expect(diagnosis).toEqual({ path: 'a', expected: 'b', ...GENERAL });
    expect(diagnosis).not.toHaveProperty('got');
  });

  it('keeps the meaning and is cut at its end where it is too long, and its data is whole', () => {
    const frame = `${MEANING} a: expected .`.length;
    const room = MESSAGE_MAX_CHARACTERS - frame;
    const whole = `${MEANING} a: expected ${'x'.repeat(room)}.`;
    expect(whole).toHaveLength(MESSAGE_MAX_CHARACTERS);
    expect(explain(REASON, { path: 'a', expected: 'x'.repeat(room) }).message).toBe(whole);
    const expected = 'x'.repeat(room + 1);
    const { message, diagnosis } = explain(REASON, { path: 'a', expected });
    expect(message).toBe(`${whole.slice(0, -1)}…`);
    expect(diagnosis.expected).toBe(expected);
  });

  it.each(reasons)('of %s says who has to act, and fits', (reason) => {
    const { fault, retry, meaning } = REASONS[reason];
    expect(diagnosisOf(reason)).toEqual({ fault, retry, docs: `docs/errors.md#${reason}` });
    // Whole: the meaning of a reason needs no cut.
    expect(explain(reason).message).toBe(meaning);
    expect(meaning.length).toBeLessThanOrEqual(MESSAGE_MAX_CHARACTERS);
  });
});
