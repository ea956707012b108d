import { describe, expect, it } from '@jest/globals';
import { encodeAbiParameters, toFunctionSelector } from 'viem';
import { PAYER, TOKEN } from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { ChainUnavailableError } from '../../errors.js';
import type { CallOutcome, ChainReader, Effect } from '../../evm/chain-reader.js';
import { EXACT_PERMIT2_PROXY, PERMIT2 } from '../../evm/contracts.js';
import { diagnosePermit2, findPermit2Cause } from './diagnose.js';

const TERMS = { asset: TOKEN, amount: 10n, tokenName: undefined, tokenVersion: undefined };
const PARTIES = { payer: PAYER, proxy: EXACT_PERMIT2_PROXY };
const PERMIT2_OF_PROXY = toFunctionSelector('function PERMIT2()');
const BALANCE = toFunctionSelector('function balanceOf(address)');
const ALLOWANCE = toFunctionSelector('function allowance(address,address)');

const returned = (value: bigint): CallOutcome => ({
  status: 'returned',
  data: encodeAbiParameters([{ type: 'uint256' }], [value]),
});
const REVERTED: CallOutcome = { status: 'reverted', data: undefined };
const HALTED: CallOutcome = { status: 'halted' };
const EMPTY: CallOutcome = { status: 'returned', data: '0x' };
const PAID: Effect = { status: 'paid', gasUsed: undefined };
const GOOD = { [BALANCE]: returned(10n), [ALLOWANCE]: returned(10n) };
const POOR = { [BALANCE]: returned(9n) };

type Answers = Readonly<Record<string, CallOutcome>>;

/** A chain on which every contract exists; `answers` override single calls. */
function aChain(answers: Answers = {}): { chain: ChainReader; asked: string[] } {
  const asked: string[] = [];
  const all: Answers = { ...GOOD, [PERMIT2_OF_PROXY]: returned(BigInt(PERMIT2)), ...answers };
  const call: ChainReader['call'] = ({ to, data }) => {
    asked.push(`${to} ${data.slice(0, 10)}`);
    return Promise.resolve(all[data.slice(0, 10)] ?? REVERTED);
  };
  return { chain: { call } as unknown as ChainReader, asked };
}

const diagnose = (answers: Answers, again: Effect): Promise<string | undefined> =>
  diagnosePermit2(aChain(answers).chain, TERMS, PARTIES, {
    failure: { status: 'unpaid' },
    again: () => Promise.resolve(again),
  });

describe('the cause for which a payment by Permit2 would not pay', () => {
  it.each<[string, Answers, string]>([
    ['nothing that can be seen', {}, 'permit2_simulation_failed'],
    ['no proxy', { [PERMIT2_OF_PROXY]: EMPTY }, 'permit2_proxy_not_deployed'],
    [
      'a proxy that is another contract',
      { [PERMIT2_OF_PROXY]: REVERTED },
      'permit2_proxy_not_deployed',
    ],
    ['a proxy that burns', { [PERMIT2_OF_PROXY]: HALTED }, 'permit2_proxy_not_deployed'],
    ['a balance one unit short', POOR, 'permit2_insufficient_balance'],
    ['an empty balance', { [BALANCE]: returned(0n) }, 'permit2_insufficient_balance'],
    ['an approval one unit short', { [ALLOWANCE]: returned(9n) }, 'permit2_allowance_required'],
    ['no approval', { [ALLOWANCE]: returned(0n) }, 'permit2_allowance_required'],
    // What cannot be read proves nothing.
    ['a balance that cannot be read', { [BALANCE]: REVERTED }, 'permit2_simulation_failed'],
    ['a balance of no bytes', { [BALANCE]: EMPTY }, 'permit2_simulation_failed'],
    ['an approval that cannot be read', { [ALLOWANCE]: HALTED }, 'permit2_simulation_failed'],
    // The order of the reference.
    ['neither', { ...POOR, [ALLOWANCE]: returned(0n) }, 'permit2_insufficient_balance'],
    ['none of all', { ...POOR, [PERMIT2_OF_PROXY]: EMPTY }, 'permit2_proxy_not_deployed'],
  ])('is %s', async (_, answers, expected) => {
    expect(await findPermit2Cause(aChain(answers).chain, TERMS, PARTIES)).toBe(expected);
    // As long as it still fails, that is what is said.
    expect(await diagnose(answers, { status: 'unpaid' })).toBe(expected);
    expect(await diagnose(answers, { status: 'reverted', data: '0x1234' })).toBe(expected);
    expect(await diagnose(answers, PAID)).toBeUndefined();
  });

  it('is asked of the proxy and the token, once each', async () => {
    const { chain, asked } = aChain();
    await findPermit2Cause(chain, TERMS, PARTIES);
    expect(asked).toEqual([
      `${EXACT_PERMIT2_PROXY} ${PERMIT2_OF_PROXY}`,
      `${TOKEN} ${BALANCE}`,
      `${TOKEN} ${ALLOWANCE}`,
    ]);
  });

  it('is its gas where it halts and nothing else is wrong', async () => {
    expect(await diagnose({}, { status: 'halted' })).toBe('gas_limit_exceeded');
    expect(await diagnose(POOR, { status: 'halted' })).toBe('permit2_insufficient_balance');
  });

  it('is not known where the chain cannot be asked', async () => {
    const away = new ChainUnavailableError(56, 'away');
    const again = (): Promise<Effect> => Promise.reject(away);
    const failed = { failure: { status: 'unpaid' } as const, again };
    await expect(diagnosePermit2(aChain().chain, TERMS, PARTIES, failed)).rejects.toBe(away);
  });
});
