import { describe, expect, it } from '@jest/globals';
import { encodeErrorResult, type Hex, parseAbi } from 'viem';
import { inWords, reasonOfRevert } from './revert-reason.js';

const text = (message: string): Hex =>
  encodeErrorResult({
    abi: parseAbi(['error Error(string)']),
    errorName: 'Error',
    args: [message],
  });

describe('reasonOfRevert', () => {
  it.each([
    [
      'FiatTokenV2: authorization is expired',
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'FiatTokenV2: authorization is not yet valid',
      'invalid_exact_evm_payload_authorization_valid_after',
    ],
    ['FiatTokenV2: authorization is used or canceled', 'invalid_exact_evm_nonce_already_used'],
    ['ERC20: transfer amount exceeds balance', 'invalid_exact_evm_insufficient_balance'],
    ['FiatTokenV2: invalid signature', 'invalid_exact_evm_signature'],
    ['Pausable: paused', undefined],
  ])('reads the text "%s" of an EIP-3009 token', (message, reason) => {
    expect(reasonOfRevert(text(message), 'eip3009')).toBe(reason);
  });

  // Selectors of Permit2 and of the proxy.
  it.each<[Hex, string | undefined]>([
    ['0x756688fe', 'permit2_invalid_nonce'],
    ['0x815e1d64', 'invalid_permit2_signature'],
    ['0x8baa579f', 'invalid_permit2_signature'],
    ['0x4be6321b', 'invalid_permit2_signature'],
    ['0xb0669cbc', 'invalid_permit2_signature'],
    [`0xcd21db4f${'0'.repeat(64)}`, 'permit2_deadline_expired'],
    [`0x3728b83d${'0'.repeat(64)}`, 'permit2_invalid_amount'],
    ['0x2c5211c6', 'permit2_invalid_amount'],
    ['0x49e27cff', 'permit2_invalid_owner'],
    ['0xac6b05f5', 'permit2_invalid_destination'],
    ['0xa65539fa', 'permit2_payment_too_early'],
    ['0x050cda49', 'permit2_2612_amount_mismatch'],
    ['0xfe64b4c7', 'upto_amount_exceeds_permitted'],
    ['0x0f6fae87', 'upto_unauthorized_facilitator'],
    ['0xdeadbeef', undefined],
    ['0x', undefined],
  ])('reads the selector %s of a Permit2 settlement', (data, reason) => {
    expect(reasonOfRevert(data, 'permit2')).toBe(reason);
  });

  // The time of a pattern grows with the cube of the length, and a stranger's token writes the text.
  it('reads no more than the first 256 characters of a text', () => {
    const after = (count: number): Hex => text(`${'!'.repeat(count)}invalid signature`);
    expect(reasonOfRevert(after(239), 'eip3009')).toBe('invalid_exact_evm_signature');
    expect(reasonOfRevert(after(240), 'eip3009')).toBeUndefined();
    expect(inWords({ status: 'reverted', data: after(239) })).toContain('that means');
    expect(inWords({ status: 'reverted', data: after(240) })).toContain('an unknown text');
  });

  it('knows nothing without data', () => {
    expect(reasonOfRevert(undefined, 'eip3009')).toBeUndefined();
  });
});

describe('what a failed simulation shows', () => {
  it.each<[Hex | undefined, string]>([
    [undefined, 'without a reason'],
    ['0x', 'without a reason'],
    ['0x756688fe', 'with InvalidNonce'],
    ['0xdeadbeef', 'with the error 0xdeadbeef'],
    [`0xdeadbeef${'11'.repeat(64)}`, 'with the error 0xdeadbeef'],
    [text('FiatTokenV2: invalid signature'), 'with a text that means InvalidSignature'],
    [text('Visit my shop'), 'with an unknown text (0x08c379a0)'],
  ])('is described without text of the contract: %s', (data, answer) => {
    expect(inWords({ status: 'reverted', data })).toBe(`The call reverts ${answer}.`);
  });

  it('may be that nothing is paid, or that no gas is left', () => {
    expect(inWords({ status: 'unpaid' })).toMatch(/does not grow/);
    expect(inWords({ status: 'halted' })).toMatch(/runs out of gas/);
  });
});
