import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem';
import { authorizationOf, payloadOf } from '../differential/cases.js';
import type { Body } from './payments.js';

/** Call data of the sandbox's USD, as anybody can send it who has read a payment or holds tokens. */

const ABI = parseAbi([
  'function transfer(address,uint256)',
  'function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
]);

/** Presents the EIP-3009 authorization of a request body to its token. */
export function presentationData(body: Body): Hex {
  const authorization = authorizationOf(body) as Record<string, string>;
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return encodeFunctionData({
    abi: ABI,
    functionName: 'transferWithAuthorization',
    args: [
      from as Address,
      to as Address,
      BigInt(value ?? 0),
      BigInt(validAfter ?? 0),
      BigInt(validBefore ?? 0),
      nonce as Hex,
      payloadOf(body)['signature'] as Hex,
    ],
  });
}

export const transferData = (to: Address, amount: bigint): Hex =>
  encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [to, amount] });
