import { type Address, encodeFunctionData, type Hex, parseAbi, parseSignature } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';

/** Call data with which a payer takes an authorization of the sandbox's USD back (EIP-3009). */
export async function cancellationData(
  payer: PrivateKeyAccount,
  chainId: number,
  token: Address,
  nonce: Hex,
): Promise<Hex> {
  const signature = await payer.signTypedData({
    domain: { name: USD_NAME, version: USD_VERSION, chainId, verifyingContract: token },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: payer.address, nonce },
  });
  const { r, s, yParity } = parseSignature(signature);
  return encodeFunctionData({
    abi: parseAbi(['function cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)']),
    functionName: 'cancelAuthorization',
    args: [payer.address, nonce, 27 + yParity, r, s],
  });
}
