import { describe, expect, it } from '@jest/globals';
import { encodeFunctionData, parseAbi } from 'viem';
import {
  anEip3009Authorization,
  anUndeployedAuthorization,
  aPermit2Authorization,
} from '../../../test/builders/protocol/payment/accepted-payment.js';
import { aggregateCall, settlementCall, withSuffix } from '../evm/calls.js';
import { DEFAULT_SCHEME_CONTRACTS, MULTICALL3 } from '../evm/contracts.js';
import { dataSuffixOf } from '../payment/builder-code.js';
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
