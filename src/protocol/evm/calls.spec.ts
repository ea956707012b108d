import { describe, expect, it } from '@jest/globals';
import { encodeFunctionData, multicall3Abi, parseAbi } from 'viem';
import {
  anEip3009Authorization,
  aPermit2Authorization,
} from '../../../test/builders/protocol/payment/accepted-payment.js';
import {
  aggregateCall,
  authorizationStateCall,
  balanceOfCall,
  isBitSet,
  isValidSignatureCall,
  nonceBitmapCall,
  permit2AllowanceCall,
  settlementCall,
} from './calls.js';
import { EXACT_PERMIT2_PROXY, MULTICALL3, PERMIT2 } from './contracts.js';

const token = '0x3333333333333333333333333333333333333333';
const ABI = parseAbi([
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
  'function balanceOf(address) view returns (uint256)',
  'function allowance(address,address) view returns (uint256)',
  'function authorizationState(address,bytes32) view returns (bool)',
  'function nonceBitmap(address,uint256) view returns (uint256)',
  'function isValidSignature(bytes32,bytes) view returns (bytes4)',
]);
const PROXY_ABI = parseAbi([
  'struct TokenPermissions { address token; uint256 amount; }',
  'struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
  'struct Witness { address to; uint256 validAfter; }',
  'struct Permit2612 { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
  'function settle(Permit permit, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(Permit2612 permit2612, Permit permit, address owner, Witness witness, bytes signature)',
]);

describe('settlementCall', () => {
  it('presents a 65-byte signature as v, r and s', () => {
    const authorization = anEip3009Authorization();
    const { from, to, value, validAfter, validBefore, nonce, signature } = authorization;
    expect(settlementCall(authorization, token)).toEqual({
      to: token,
      data: encodeFunctionData({
        abi: ABI,
        functionName: 'transferWithAuthorization',
        args: [
          ...([from, to, value, validAfter, validBefore, nonce] as const),
          27,
          `0x${signature.slice(2, 66)}`,
          `0x${signature.slice(66, 130)}`,
        ],
      }),
    });
  });

  it.each(['0x', '0x1234', `0x${'ab'.repeat(64)}`, `0x${'ab'.repeat(96)}`] as const)(
    'presents any other signature as bytes (%s)',
    (signature) => {
      const authorization = anEip3009Authorization({ signature });
      const { from, to, value, validAfter, validBefore, nonce } = authorization;
      expect(settlementCall(authorization, token).data).toBe(
        encodeFunctionData({
          abi: ABI,
          functionName: 'transferWithAuthorization',
          args: [from, to, value, validAfter, validBefore, nonce, signature],
        }),
      );
    },
  );

  it.each(['0x1234', `0x${'ab'.repeat(65)}`] as const)(
    'has the wallet made first where it is not there, by Multicall3 (%s)',
    (signature) => {
      const deployment = { factory: token, data: '0x5678' } as const;
      const authorization = anEip3009Authorization({ signature, deployment });
      const { from, to, value, validAfter, validBefore, nonce } = authorization;
      // Never the overload of a key, however long the signature is.
      const callData = encodeFunctionData({
        abi: ABI,
        functionName: 'transferWithAuthorization',
        args: [from, to, value, validAfter, validBefore, nonce, signature],
      });
      const calls = [
        { target: token, allowFailure: true, callData: deployment.data },
        { target: token, allowFailure: false, callData },
      ] as const;
      expect(settlementCall(authorization, token)).toEqual({
        to: MULTICALL3,
        deploys: from,
        data: encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [calls] }),
      });
    },
  );

  const authorization = aPermit2Authorization();
  const permit = {
    permitted: { token: authorization.token, amount: authorization.amount },
    nonce: authorization.nonce,
    deadline: authorization.deadline,
  };
  const witness = {
    to: authorization.witnessTo,
    validAfter: authorization.witnessValidAfter,
  };

  it('calls settle of the proxy for Permit2', () => {
    expect(settlementCall(authorization, token)).toEqual({
      to: EXACT_PERMIT2_PROXY,
      data: encodeFunctionData({
        abi: PROXY_ABI,
        functionName: 'settle',
        args: [permit, authorization.from, witness, authorization.signature],
      }),
    });
  });

  it('calls the proxy that the payer signed for, also when the chain has another one since', () => {
    const spender = `0x${'44'.repeat(20)}` as const;
    expect(settlementCall(aPermit2Authorization({ spender }), token).to).toBe(spender);
  });

  it('calls settleWithPermit of the proxy for a sponsored permit', () => {
    const sponsoredPermit = {
      value: 1000n,
      deadline: 5n,
      r: `0x${'01'.repeat(32)}`,
      s: `0x${'02'.repeat(32)}`,
      v: 28,
    } as const;
    const sponsored = aPermit2Authorization({ sponsoredPermit });
    expect(settlementCall(sponsored, token).data).toBe(
      encodeFunctionData({
        abi: PROXY_ABI,
        functionName: 'settleWithPermit',
        args: [sponsoredPermit, permit, authorization.from, witness, authorization.signature],
      }),
    );
  });
});

describe('other calls', () => {
  const owner = '0x1111111111111111111111111111111111111111';
  const nonce = `0x${'0a'.repeat(32)}` as const;

  it('are encoded as viem encodes them', () => {
    const abi = ABI;
    expect(balanceOfCall(token, owner).data).toBe(
      encodeFunctionData({ abi, functionName: 'balanceOf', args: [owner] }),
    );
    expect(permit2AllowanceCall(token, owner).data).toBe(
      encodeFunctionData({ abi, functionName: 'allowance', args: [owner, PERMIT2] }),
    );
    expect(authorizationStateCall(token, owner, nonce).data).toBe(
      encodeFunctionData({ abi, functionName: 'authorizationState', args: [owner, nonce] }),
    );
    expect(nonceBitmapCall(owner, 2n ** 20n + 3n).data).toBe(
      encodeFunctionData({ abi, functionName: 'nonceBitmap', args: [owner, 2n ** 12n] }),
    );
    expect(isValidSignatureCall(owner, nonce, '0x123456').data).toBe(
      encodeFunctionData({ abi, functionName: 'isValidSignature', args: [nonce, '0x123456'] }),
    );
  });

  it('reads the bit of a Permit2 nonce', () => {
    expect(isBitSet(0b1000n, 2n ** 40n + 3n)).toBe(true);
    expect(isBitSet(0b1000n, 2n ** 40n + 4n)).toBe(false);
  });

  it.each([1, 2, 32])('joins %d calls by Multicall3', (count) => {
    const calls = Array.from({ length: count }, (_, index) => ({
      to: token,
      data: `0x${'ab'.repeat(index * 7)}`,
    })) as { to: `0x${string}`; data: `0x${string}` }[];
    expect(aggregateCall(calls)).toEqual({
      to: MULTICALL3,
      data: encodeFunctionData({
        abi: multicall3Abi,
        functionName: 'aggregate3',
        args: [calls.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))],
      }),
    });
  });
});
