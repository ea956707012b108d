import { describe, expect, it } from '@jest/globals';
import { encodeFunctionData, type Hex, parseAbi } from 'viem';
import {
  anEip3009Authorization,
  anUndeployedAuthorization,
  aPermit2Authorization,
} from '../../../test/builders/protocol/payment/accepted-payment.js';
import { channelMoves } from '../../../test/builders/protocol/schemes/batch-settlement/authorizations.js';
import { addressWord, bytesWords, uintWord } from '../evm/abi-words.js';
import { aggregateCall, selectorOf, settlementCall, withSuffix } from '../evm/calls.js';
import { CHANNEL_ESCROW, DEFAULT_SCHEME_CONTRACTS, MULTICALL3 } from '../evm/contracts.js';
import { dataSuffixOf } from '../payment/builder-code.js';
import { depositCallOf, type Permit2Deposit } from './batch-settlement/deposit.js';
import { presentedAuthorizations } from './presented.js';

const token = '0x3333333333333333333333333333333333333333';
const eip3009 = anEip3009Authorization();
const permit2 = aPermit2Authorization();
const sponsored = aPermit2Authorization({
  nonce: 78n,
  sponsoredPermit: {
    value: 1000n,
    deadline: 5n,
    r: `0x${'01'.repeat(32)}`,
    s: `0x${'02'.repeat(32)}`,
    v: 28,
  },
});
const parties = { payer: permit2.from, receiver: permit2.witnessTo, authorizer: token } as const;
const deposit = channelMoves(parties, 9).byPermit2 as Permit2Deposit;
const expected = {
  eip3009: {
    method: 'eip3009',
    token,
    from: eip3009.from,
    to: eip3009.to,
    amount: 1000n,
    nonce: BigInt(eip3009.nonce),
  },
  permit2: {
    method: 'permit2',
    token,
    from: permit2.from,
    to: permit2.witnessTo,
    amount: 1000n,
    nonce: 77n,
  },
};

describe('presentedAuthorizations', () => {
  const call = (authorization: typeof eip3009 | typeof permit2) =>
    settlementCall(authorization, token);
  const presented = ({ to, data }: ReturnType<typeof call>) =>
    presentedAuthorizations(to, data, DEFAULT_SCHEME_CONTRACTS);

  it('reads direct calls', () => {
    expect(presented(call(eip3009))).toEqual([expected.eip3009]);
    expect(presented(call(permit2))).toEqual([expected.permit2]);
    expect(presented(call(sponsored))).toEqual([{ ...expected.permit2, nonce: 78n }]);
  });

  it('reads calls inside Multicall3', () => {
    const batch = aggregateCall([call(eip3009), call(permit2)]);
    expect(presented(batch)).toEqual([expected.eip3009, expected.permit2]);
  });

  it('reads calls that have more behind their calldata, and a batch of them', () => {
    const suffix = dataSuffixOf('ours', { app: 'weather', services: ['agent'] });
    const [one, other] = [withSuffix(call(eip3009), suffix), withSuffix(call(sponsored), suffix)];
    expect(presented(one)).toEqual([expected.eip3009]);
    expect(presented(other)).toEqual([{ ...expected.permit2, nonce: 78n }]);
    const batch = withSuffix(aggregateCall([one, other]), suffix);
    expect(presented(batch)).toEqual([expected.eip3009, { ...expected.permit2, nonce: 78n }]);
    const made = withSuffix(call(anUndeployedAuthorization()), suffix);
    expect(presented(made)).toEqual([expected.eip3009]);
  });

  it('reads what is presented after a wallet was made, and nothing into how that is done', () => {
    const undeployed = anUndeployedAuthorization();
    expect(presented(call(undeployed))).toEqual([expected.eip3009]);
    // Calldata of a factory that looks like a payment of another token is one of that token alone.
    const factory = `0x${'fa'.repeat(20)}` as const;
    const { data } = call(eip3009);
    const posing = anUndeployedAuthorization({ deployment: { factory, data } });
    expect(presented(call(posing))).toEqual([
      { ...expected.eip3009, token: factory },
      expected.eip3009,
    ]);
  });

  it.each(['aggregate', 'tryAggregate', 'tryBlockAndAggregate', 'blockAndAggregate'] as const)(
    'reads calls inside %s of Multicall3, which a copier may use',
    (functionName) => {
      const abi = parseAbi([
        'struct Call { address target; bytes callData; }',
        'function aggregate(Call[] calls)',
        'function blockAndAggregate(Call[] calls)',
        'function tryAggregate(bool requireSuccess, Call[] calls)',
        'function tryBlockAndAggregate(bool requireSuccess, Call[] calls)',
      ]);
      const { to, data } = call(eip3009);
      const calls = [{ target: to, callData: data }];
      const batch = functionName.startsWith('try')
        ? encodeFunctionData({
            abi,
            functionName: functionName,
            args: [false, calls],
          })
        : encodeFunctionData({ abi, functionName: functionName, args: [calls] });
      expect(presented({ to: MULTICALL3, data: batch })).toEqual([expected.eip3009]);
    },
  );

  it('reads calls inside Multicall3 that may carry native coins', () => {
    const abi = parseAbi([
      'struct Call3Value { address target; bool allowFailure; uint256 value; bytes callData; }',
      'function aggregate3Value(Call3Value[] calls)',
    ]);
    const { to: target, data: callData } = call(eip3009);
    const one = { target, allowFailure: true, value: 7n, callData };
    const batch = encodeFunctionData({ abi, args: [[one, one]] });
    const paid = expected.eip3009;
    expect(presented({ to: MULTICALL3, data: batch })).toEqual([paid, paid]);
  });

  describe('of a list whose elements overlap', () => {
    const COUNT = 50;
    /** The list in the first argument, each of its offsets to the same element. */
    const overlapping = (selector: string, element: string): Hex => {
      const offsets = uintWord(COUNT * 32).repeat(COUNT);
      return `0x${selector}${uintWord(32)}${uintWord(COUNT)}${offsets}${element}`;
    };

    it('reads nothing of Multicall3: it would unfold to more than was sent', () => {
      const { to, data } = call(eip3009);
      const element = addressWord(to) + uintWord(0) + uintWord(3 * 32) + bytesWords(data);
      expect(presented({ to: MULTICALL3, data: overlapping('82ad56cb', element) })).toEqual([]);
    });

    it('reads nothing of the escrow', () => {
      const { data } = depositCallOf(deposit);
      const nested = overlapping(selectorOf('multicall(bytes[])'), bytesWords(data));
      expect(presented({ to: CHANNEL_ESCROW, data: nested })).toEqual([]);
    });
  });

  it('reads calls that the escrow makes of itself, also inside Multicall3', () => {
    const { data } = depositCallOf(deposit);
    const abi = parseAbi(['function multicall(bytes[] data)']);
    const both = { to: CHANNEL_ESCROW, data: encodeFunctionData({ abi, args: [[data, data]] }) };
    const one = { method: 'permit2', from: deposit.from, nonce: deposit.nonce };
    expect(presented(both)).toMatchObject([one, one]);
    expect(presented(aggregateCall([both]))).toMatchObject([one, one]);
  });

  it('believes a settle call only of the proxy', () => {
    expect(presented({ ...call(permit2), to: token })).toEqual([]);
  });

  it.each(['0x', '0xe3ee160e', '0x82ad56cb', '0x12345678'] as const)(
    'reads nothing in %s',
    (data) => {
      expect(presented({ to: token, data })).toEqual([]);
      expect(presentedAuthorizations(null, data, DEFAULT_SCHEME_CONTRACTS)).toEqual([]);
    },
  );
});
