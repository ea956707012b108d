import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { newAccount } from '../support/payments.js';
import type { World } from '../support/world.js';

const ONE = 10n ** 18n;

/** An EIP-3009 payment of one sandbox dollar, changed as a test wants. */
export function transferData(
  world: World,
  from: string,
  more: object = {},
  domain: object = {},
  primaryType = 'TransferWithAuthorization',
): object {
  const field = (name: string, type: string) => ({ name, type });
  return {
    domain: {
      name: USD_NAME,
      version: USD_VERSION,
      chainId: world.chainId,
      verifyingContract: world.usd,
      ...domain,
    },
    primaryType,
    types: {
      [primaryType]: [
        field('from', 'address'),
        field('to', 'address'),
        field('value', 'uint256'),
        field('validAfter', 'uint256'),
        field('validBefore', 'uint256'),
        field('nonce', 'bytes32'),
      ],
    },
    message: {
      from,
      to: newAccount().address,
      value: `${ONE}`,
      validAfter: '0',
      validBefore: `${Math.floor(Date.now() / 1000) + 300}`,
      nonce: `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`,
      ...more,
    },
  };
}
