import { describe, expect, it } from '@jest/globals';
import { encodeAbiParameters, type Hex, toFunctionSelector } from 'viem';
import type { Eip3009Authorization } from '../../evm/authorization.js';
import type { Call } from '../../evm/calls.js';
import type { CallOutcome, ChainReader, Effect, FailedEffect } from '../../evm/chain-reader.js';
import { diagnose as diagnoseFailure } from './diagnose.js';

const PAYER = '0x1111111111111111111111111111111111111111';
const TOKEN = '0x2222222222222222222222222222222222222222';
const TERMS = { asset: TOKEN, amount: 10n, tokenName: 'USD', tokenVersion: '1' } as const;
const AUTHORIZATION: Eip3009Authorization = {
  method: 'eip3009',
  from: PAYER,
  to: TOKEN,
  value: 10n,
  validAfter: 0n,
  validBefore: 1n,
  nonce: `0x${'01'.repeat(32)}`,
  signature: '0x',
};

const returned = (type: string, value: unknown): CallOutcome => ({
  status: 'returned',
  data: encodeAbiParameters([{ type }], [value]),
});
const selector = (signature: string): Hex => toFunctionSelector(`function ${signature}`);

/** A token that answers each read from its present state; `seen` gets the calldata. */
function aToken(state: { used: boolean; balance: bigint }, seen: (data: Hex) => void): ChainReader {
  const answers: Readonly<Record<Hex, () => CallOutcome>> = {
    [selector('authorizationState(address,bytes32)')]: () => returned('bool', state.used),
    [selector('name()')]: () => returned('string', 'USD'),
    [selector('version()')]: () => returned('string', '1'),
    [selector('balanceOf(address)')]: () => returned('uint256', state.balance),
  };
  const call = ({ data }: Call): Promise<CallOutcome> => {
    const name = data.slice(0, 10) as Hex;
    const outcome = answers[name]?.() ?? { status: 'reverted', data: undefined };
    seen(name);
    return Promise.resolve(outcome);
  };
  return { call } as unknown as ChainReader;
}

const REVERTED: FailedEffect = { status: 'reverted', data: undefined };
const PAID: Effect = { status: 'paid', gasUsed: undefined };

const diagnose = (
  chain: ChainReader,
  again: Effect = REVERTED,
  failure: FailedEffect = REVERTED,
): Promise<string | undefined> =>
  diagnoseFailure(chain, TERMS, AUTHORIZATION, { failure, again: () => Promise.resolve(again) });

describe('the diagnosis of an EIP-3009 transfer that would revert', () => {
  it('says that the balance is too low', async () => {
    const token = aToken({ used: false, balance: 9n }, () => undefined);
    expect(await diagnose(token)).toBe('invalid_exact_evm_insufficient_balance');
  });

  it('says that nothing is wrong with what can be seen', async () => {
    const token = aToken({ used: false, balance: 10n }, () => undefined);
    expect(await diagnose(token)).toBe('invalid_exact_evm_transaction_simulation_failed');
  });

  it('says nothing when the same succeeds now', async () => {
    const token = aToken({ used: false, balance: 9n }, () => undefined);
    expect(await diagnose(token, PAID)).toBeUndefined();
  });

  it('says that it is used when it is used between two reads', async () => {
    const state = { used: false, balance: 10n };
    // A copier presents it in a block that comes after the first of the four answers.
    const token = aToken(state, () => {
      state.used = true;
      state.balance = 0n;
    });
    expect(await diagnose(token)).toBe('invalid_exact_evm_nonce_already_used');
  });

  it('says that it needs more gas than it may cost, when nothing else is wrong', async () => {
    const token = aToken({ used: false, balance: 10n }, () => undefined);
    const halted = { status: 'halted' } as const;
    expect(await diagnose(token, halted, halted)).toBe('gas_limit_exceeded');
    const poor = aToken({ used: false, balance: 9n }, () => undefined);
    expect(await diagnose(poor, halted, halted)).toBe('invalid_exact_evm_insufficient_balance');
  });

  it('asks a token that burns one question before the others', async () => {
    const seen: Hex[] = [];
    const call = ({ data }: Call): Promise<CallOutcome> => {
      seen.push(data);
      return Promise.resolve({ status: 'halted' });
    };
    const halted = { status: 'halted' } as const;
    const token = { call } as unknown as ChainReader;
    expect(await diagnose(token, halted, halted)).toBe('invalid_exact_evm_eip3009_not_supported');
    // Once for the cause, and once beside the second simulation.
    expect(seen).toHaveLength(2);
  });
});
