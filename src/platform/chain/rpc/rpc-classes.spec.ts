import { describe, expect, it } from '@jest/globals';
import { readCallOutcome, readSendResult } from './rpc-classes.js';
import type { RpcOutcome } from './rpc-outcome.js';

const error = (message: string, code = -32_000, data?: unknown): RpcOutcome => ({
  kind: 'error',
  error: { code, message, data },
});

describe('readSendResult', () => {
  // Recorded from geth (bsc), erigon, nethermind, besu, reth and anvil.
  it.each([
    ['already known', 'already_known'],
    ['AlreadyKnown', 'already_known'],
    ['Known transaction', 'already_known'],
    ['transaction already imported', 'already_known'],
    ['nonce too low: next nonce 5, tx nonce 4', 'nonce_too_low'],
    ['OldNonce', 'nonce_too_low'],
    ['replacement transaction underpriced', 'underpriced'],
    ['transaction underpriced: gas tip cap 0.1 gwei, minimum needed 1 gwei', 'underpriced'],
    ['FeeTooLow', 'underpriced'],
    ['max fee per gas less than block base fee', 'underpriced'],
    ['insufficient funds for gas * price + value: balance 0', 'no_funds'],
    ['Insufficient funds for gas * price + value', 'no_funds'],
    ['intrinsic gas too low', 'rejected'],
    ['exceeds block gas limit', 'rejected'],
    ['invalid chain id for signer', 'rejected'],
    ['txpool is full', 'unknown'],
    ['in-flight transaction limit reached for delegated accounts', 'unknown'],
    ['internal error', 'unknown'],
    ['', 'unknown'],
  ])('classes "%s" as %s', (message, kind) => {
    expect(readSendResult(error(message)).kind).toBe(kind);
  });

  it('learns the least tip', () => {
    const gwei = 'transaction underpriced: gas tip cap 0.1 gwei, minimum needed 1.5 gwei';
    expect(readSendResult(error(gwei))).toEqual({
      kind: 'underpriced',
      leastTipWei: 1_500_000_000n,
    });
    const wei = 'transaction underpriced: tip needed 5, minimum needed 70000000';
    expect(readSendResult(error(wei))).toEqual({ kind: 'underpriced', leastTipWei: 70_000_000n });
  });

  it('calls silence unknown, never failed', () => {
    for (const cause of ['timeout', 'connection', 'rate_limited', 'malformed'] as const) {
      expect(readSendResult({ kind: 'silent', cause }).kind).toBe('unknown');
    }
  });
});

describe('readCallOutcome', () => {
  it('reads what a call returned', () => {
    expect(readCallOutcome({ kind: 'result', value: '0x01' })).toEqual({
      status: 'returned',
      data: '0x01',
    });
  });

  it.each<[string, RpcOutcome, unknown]>([
    ['geth with data', error('execution reverted: paused', 3, '0x08c379a0'), '0x08c379a0'],
    ['geth without data', error('execution reverted', 3), undefined],
    ['nested data', error('VM Exception', -32_603, { data: '0x1234' }), '0x1234'],
    ['a word before the data', error('reverted', -32_015, 'Reverted 0xabcd'), '0xabcd'],
  ])('knows a revert: %s', (_, outcome, data) => {
    expect(readCallOutcome(outcome)).toEqual({ status: 'reverted', data });
  });

  it.each<[string, RpcOutcome]>([
    ['out of gas', error('out of gas')],
    ['anvil out of gas', error('EVM error OutOfGas', -32_603)],
    ['a header that is not found', error('header not found')],
    ['words that look like a revert', error('execution reverted', -32_000)],
  ])('does not judge by words: %s', (_, outcome) => {
    expect(readCallOutcome(outcome)).toBe('unclear');
  });

  it.each<[string, RpcOutcome]>([
    ['a limit', error('limit exceeded', -32_005)],
    ['an unknown method, whatever it says', error('execution reverted', -32_601)],
    ['silence', { kind: 'silent', cause: 'timeout' }],
    ['a result that is no data', { kind: 'result', value: null }],
  ])('takes %s for no answer, not for a revert', (_, outcome) => {
    expect(readCallOutcome(outcome)).toBeUndefined();
  });

  it('cuts off what is longer than anything that is read', () => {
    const long = `0x${'00'.repeat(100_000)}`;
    const outcome = readCallOutcome({ kind: 'result', value: long });
    expect(outcome).toMatchObject({ data: long.slice(0, 2 + 2 * 32_768) });
  });
});
