import { describe, expect, it } from '@jest/globals';
import { encodeFunctionData, type Hex, parseAbi, toFunctionSelector } from 'viem';
import {
  anUptoAuthorization,
  UPTO_MAXIMUM,
} from '../../../test/builders/protocol/schemes/upto/upto.js';
import { UINT256_MAX } from '../payment/wire-values.js';
import type { SponsoredPermit, UptoAuthorization } from './authorization.js';
import { UPTO_SETTLE, UPTO_SETTLE_WITH_PERMIT, uptoSettlementCall } from './upto-calls.js';

const ABI = parseAbi([
  'struct TokenPermissions { address token; uint256 amount; }',
  'struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
  'struct Witness { address to; address facilitator; uint256 validAfter; }',
  'struct Permit2612 { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
  'function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(Permit2612 permit2612, Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
]);
const PERMIT: SponsoredPermit = {
  value: UPTO_MAXIMUM,
  deadline: 5n,
  v: 28,
  r: `0x${'01'.repeat(32)}`,
  s: `0x${'02'.repeat(32)}`,
};

function encodedByViem(authorization: UptoAuthorization, amount: bigint): Hex {
  const { token, nonce, deadline, from, signature, sponsoredPermit } = authorization;
  const { witnessTo: to, facilitator, witnessValidAfter: validAfter } = authorization;
  const args = [
    { permitted: { token, amount: authorization.amount }, nonce, deadline },
    amount,
    from,
    { to, facilitator, validAfter },
    signature,
  ] as const;
  return sponsoredPermit === undefined
    ? encodeFunctionData({ abi: ABI, functionName: 'settle', args })
    : encodeFunctionData({
        abi: ABI,
        functionName: 'settleWithPermit',
        args: [sponsoredPermit, ...args],
      });
}

describe('the call of the upto proxy', () => {
  it('has the selectors that viem finds for its functions', () => {
    const [settle, settleWithPermit] = ABI;
    expect(`0x${UPTO_SETTLE}`).toBe(toFunctionSelector(settle));
    expect(`0x${UPTO_SETTLE_WITH_PERMIT}`).toBe(toFunctionSelector(settleWithPermit));
  });

  const some: readonly (readonly [string, Partial<UptoAuthorization>, bigint])[] = [
    ['less than was signed', {}, 400n],
    ['all that was signed', {}, UPTO_MAXIMUM],
    ['nothing', {}, 0n],
    ['the largest amount', { amount: UINT256_MAX }, UINT256_MAX],
    ['with the last nonce', { nonce: UINT256_MAX }, 1n],
    ['with the first nonce', { nonce: 0n }, 1n],
    ['without a deadline', { deadline: UINT256_MAX }, 1n],
    ['from a later time on', { witnessValidAfter: 2n ** 64n }, 1n],
    ['by no signature', { signature: '0x' }, 1n],
    ['by a compact signature', { signature: `0x${'ab'.repeat(64)}` }, 1n],
    ['by a signature of one byte', { signature: '0x01' }, 1n],
    ['by a signature of a wallet', { signature: `0x${'cd'.repeat(2000)}` }, 1n],
  ];

  it.each(some)('is encoded as viem encodes it: %s', (_, overrides, amount) => {
    const plain = anUptoAuthorization(overrides);
    const to = plain.spender;
    expect(uptoSettlementCall(plain, amount)).toEqual({ to, data: encodedByViem(plain, amount) });
    const sponsored = anUptoAuthorization({ ...overrides, sponsoredPermit: PERMIT });
    const data = encodedByViem(sponsored, amount);
    expect(uptoSettlementCall(sponsored, amount)).toEqual({ to, data });
  });

  it('goes to the proxy that the payer signed for', () => {
    const spender: Hex = `0x${'44'.repeat(20)}`;
    expect(uptoSettlementCall(anUptoAuthorization({ spender }), 1n).to).toBe(spender);
  });
});
