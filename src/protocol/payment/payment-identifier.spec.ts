import { describe, expect, it } from '@jest/globals';
import { appendPaymentIdentifierToExtensions, generatePaymentId } from '@x402/extensions';
import { readPaymentIdentifier } from './payment-identifier.js';

const payloadOf = (id: unknown): Record<string, unknown> => ({
  extensions: { 'payment-identifier': { info: { required: false, id } } },
});

describe('the name a buyer gives its payment', () => {
  it('is what the stock client sends', () => {
    const id = generatePaymentId();
    const declared = { 'payment-identifier': { info: { required: false }, schema: {} } };
    const extensions = appendPaymentIdentifierToExtensions(declared, id);
    expect(readPaymentIdentifier({ extensions })).toBe(id);
  });

  it.each([
    ['too short', 'a'.repeat(15)],
    ['too long', 'a'.repeat(129)],
    ['of other characters', 'order number 00000001'],
    ['with a line break', `${'a'.repeat(16)}\n`],
    ['a number', 1_234_567_890_123_456],
    ['a list', ['a'.repeat(16)]],
    ['missing', undefined],
  ])('is undefined where it is %s', (_, id) => {
    expect(readPaymentIdentifier(payloadOf(id))).toBeUndefined();
  });

  it.each([
    ['no extensions', {}],
    ['extensions that are a list', { extensions: [] }],
    ['a declaration that is text', { extensions: { 'payment-identifier': 'x' } }],
    ['no info', { extensions: { 'payment-identifier': {} } }],
  ])('is undefined where there is %s', (_, payload) => {
    expect(readPaymentIdentifier(payload)).toBeUndefined();
  });
});
