import { describe, expect, it } from '@jest/globals';
import { hashTypedData } from 'viem';
import {
  anEip3009Authorization,
  aPermit2Authorization,
} from '../../../test/builders/protocol/payment/accepted-payment.js';
import { PERMIT2 } from './contracts.js';
import { eip3009Digest, permit2Digest, rememberTokenDomain } from './typed-data.js';

const token = '0x3333333333333333333333333333333333333333';

describe('eip3009Digest', () => {
  it.each([
    ['Token', '1', 56],
    ['United Stables', '2', 97],
    ['a', 'b', 1],
    ['名前 💥', 'v1.0', 31_337],
  ])('is the EIP-712 hash of viem for the domain %s %s %d', (name, version, chainId) => {
    const authorization = anEip3009Authorization({ value: 2n ** 255n + 7n });
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    expect(eip3009Digest(authorization, { name, version, chainId, token })).toBe(
      hashTypedData({
        domain: { name, version, chainId, verifyingContract: token },
        types: {
          TransferWithAuthorization: [
            { name: 'from', type: 'address' },
            { name: 'to', type: 'address' },
            { name: 'value', type: 'uint256' },
            { name: 'validAfter', type: 'uint256' },
            { name: 'validBefore', type: 'uint256' },
            { name: 'nonce', type: 'bytes32' },
          ],
        },
        primaryType: 'TransferWithAuthorization',
        message: { from, to, value, validAfter, validBefore, nonce },
      }),
    );
  });

  it('tells domains apart whose names and versions join to the same text', () => {
    const authorization = anEip3009Authorization();
    const digest = (name: string, version: string) =>
      eip3009Digest(authorization, { name, version, chainId: 56, token });
    expect(digest('ab', 'c')).not.toBe(digest('a', 'bc'));
  });

  it('is the same before and after its domain is remembered, and after it is forgotten again', () => {
    const authorization = anEip3009Authorization();
    const domain = { name: 'Remembered', version: '1', chainId: 56, token } as const;
    const digests = [eip3009Digest(authorization, domain)];
    rememberTokenDomain(domain);
    digests.push(eip3009Digest(authorization, domain));
    for (let count = 0; count < 5000; count += 1) {
      rememberTokenDomain({ ...domain, name: `Other ${count}` });
    }
    digests.push(eip3009Digest(authorization, domain));
    expect(new Set(digests).size).toBe(1);
  });
});

describe('permit2Digest', () => {
  it.each([56, 97])('is the EIP-712 hash of viem on chain %d', (chainId) => {
    const authorization = aPermit2Authorization({ nonce: 2n ** 256n - 1n });
    const { token: asset, amount, spender, nonce, deadline } = authorization;
    expect(permit2Digest(authorization, chainId)).toBe(
      hashTypedData({
        domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2 },
        types: {
          PermitWitnessTransferFrom: [
            { name: 'permitted', type: 'TokenPermissions' },
            { name: 'spender', type: 'address' },
            { name: 'nonce', type: 'uint256' },
            { name: 'deadline', type: 'uint256' },
            { name: 'witness', type: 'Witness' },
          ],
          TokenPermissions: [
            { name: 'token', type: 'address' },
            { name: 'amount', type: 'uint256' },
          ],
          Witness: [
            { name: 'to', type: 'address' },
            { name: 'validAfter', type: 'uint256' },
          ],
        },
        primaryType: 'PermitWitnessTransferFrom',
        message: {
          permitted: { token: asset, amount },
          spender,
          nonce,
          deadline,
          witness: {
            to: authorization.witnessTo,
            validAfter: authorization.witnessValidAfter,
          },
        },
      }),
    );
  });
});
