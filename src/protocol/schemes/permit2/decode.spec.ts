import { describe, expect, it } from '@jest/globals';
import { aPermit2Authorization } from '../../../../test/builders/protocol/payment/accepted-payment.js';
import { anUptoAuthorization } from '../../../../test/builders/protocol/schemes/upto/upto.js';
import type { Permit2Authorization, SponsoredPermit } from '../../evm/authorization.js';
import { UINT256_MAX } from '../../payment/wire-values.js';
import { decodePermit2 } from './decode.js';

/** As the ledger keeps it. */
const stored = (authorization: Permit2Authorization): unknown =>
  JSON.parse(
    JSON.stringify(authorization, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    ),
  );
const PERMIT: SponsoredPermit = {
  value: UINT256_MAX,
  deadline: 5n,
  v: 28,
  r: `0x${'01'.repeat(32)}`,
  s: `0x${'02'.repeat(32)}`,
};

describe('a Permit2 authorization from the ledger', () => {
  it.each<[string, Permit2Authorization]>([
    ['a plain one', aPermit2Authorization()],
    ['one that was signed without an end', aPermit2Authorization({ deadline: UINT256_MAX })],
    ['one of the last nonce', aPermit2Authorization({ nonce: UINT256_MAX })],
    ['one of the largest amount', aPermit2Authorization({ amount: UINT256_MAX })],
    ['one that is not good yet', aPermit2Authorization({ witnessValidAfter: 2n ** 64n })],
    ['a sponsored one', aPermit2Authorization({ sponsoredPermit: PERMIT })],
    [
      'one that brings an approval',
      aPermit2Authorization({
        sponsoredApproval: {
          raw: '0x02',
          hash: `0x${'03'.repeat(32)}`,
          accountNonce: 7,
          gas: 70_000n,
          maxFeePerGas: 2n ** 64n,
        },
      }),
    ],
    // With what its scheme adds.
    ['one of upto', anUptoAuthorization()],
    ['a sponsored one of upto', anUptoAuthorization({ sponsoredPermit: PERMIT })],
  ])('is what it was: %s', (_, authorization) => {
    expect(decodePermit2(stored(authorization))).toEqual(authorization);
  });

  it('throws where an amount is no number', () => {
    const broken = { ...(stored(aPermit2Authorization()) as object), amount: 'x' };
    expect(() => decodePermit2(broken)).toThrow(SyntaxError);
  });
});
