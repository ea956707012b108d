import type { Hex } from 'viem';
import type {
  Eip3009Authorization,
  Permit2Authorization,
} from '../../../../src/protocol/evm/authorization.js';
import { EXACT_PERMIT2_PROXY } from '../../../../src/protocol/evm/contracts.js';
import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';

const PAYER: Hex = '0x1111111111111111111111111111111111111111';
const PAYEE: Hex = '0x2222222222222222222222222222222222222222';
const TOKEN: Hex = '0x3333333333333333333333333333333333333333';

export function anEip3009Authorization(
  overrides: Partial<Eip3009Authorization> = {},
): Eip3009Authorization {
  return {
    method: 'eip3009',
    from: PAYER,
    to: PAYEE,
    value: 1000n,
    validAfter: 0n,
    validBefore: 2_000_000_000n,
    nonce: `0x${'ab'.repeat(32)}`,
    signature: `0x${'cd'.repeat(64)}1b`,
    ...overrides,
  };
}

/** Of a wallet that its factory has yet to make (ERC-6492). */
export const anUndeployedAuthorization = (
  overrides: Partial<Eip3009Authorization> = {},
): Eip3009Authorization =>
  anEip3009Authorization({
    deployment: { factory: '0xfafafafafafafafafafafafafafafafafafafafa', data: '0x1234' },
    ...overrides,
  });

export function aPermit2Authorization(
  overrides: Partial<Permit2Authorization> = {},
): Permit2Authorization {
  return {
    method: 'permit2',
    from: PAYER,
    token: TOKEN,
    amount: 1000n,
    spender: EXACT_PERMIT2_PROXY,
    nonce: 77n,
    deadline: 2_000_000_000n,
    witnessTo: PAYEE,
    witnessValidAfter: 0n,
    signature: `0x${'ef'.repeat(64)}1c`,
    sponsoredPermit: undefined,
    ...overrides,
  };
}

export function anAcceptedPayment(overrides: Partial<AcceptedPayment> = {}): AcceptedPayment {
  return {
    chainId: 56,
    asset: TOKEN,
    payTo: PAYEE,
    amount: 1000n,
    authorization: anEip3009Authorization(),
    payerHasCode: false,
    tokenName: 'Token',
    tokenVersion: '1',
    ...overrides,
  };
}
