import type { Address, Hex } from 'viem';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import { PERMIT2 } from '../../protocol/evm/contracts.js';
import type { TypedData } from './spending.js';

/**
 * The two messages a wallet signs to pay in the exact scheme, as EIP-712 typed data. Payments are checked and signed
 * from these values only; the agent's message is compared with them, and never signed.
 */

const field = (name: string, type: string) => ({ name, type });

const TRANSFER_WITH_AUTHORIZATION = [
  field('from', 'address'),
  field('to', 'address'),
  field('value', 'uint256'),
  field('validAfter', 'uint256'),
  field('validBefore', 'uint256'),
  field('nonce', 'bytes32'),
];

const EIP712_DOMAIN = [
  field('name', 'string'),
  field('version', 'string'),
  field('chainId', 'uint256'),
  field('verifyingContract', 'address'),
];

export interface TransferTerms {
  readonly from: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
  /** Unix seconds. */
  readonly validAfter: bigint;
  /** Unix seconds. */
  readonly deadline: bigint;
  readonly nonce: bigint;
}

/** EIP-3009 `transferWithAuthorization`. */
export function eip3009Message(
  token: WalletAsset & { readonly eip712: NonNullable<WalletAsset['eip712']> },
  terms: TransferTerms,
): TypedData {
  return {
    domain: {
      name: token.eip712.name,
      version: token.eip712.version,
      chainId: token.chainId,
      verifyingContract: token.address,
    },
    types: { EIP712Domain: EIP712_DOMAIN, TransferWithAuthorization: TRANSFER_WITH_AUTHORIZATION },
    primaryType: 'TransferWithAuthorization',
    message: {
      from: terms.from,
      to: terms.payTo,
      value: terms.amount.toString(),
      validAfter: terms.validAfter.toString(),
      validBefore: terms.deadline.toString(),
      nonce: bytes32Of(terms.nonce),
    },
  };
}

/** Permit2 `permitWitnessTransferFrom` to the x402 exact proxy. */
export function permit2Message(
  token: WalletAsset,
  spender: Address,
  terms: TransferTerms,
): TypedData {
  return {
    domain: { name: 'Permit2', chainId: token.chainId, verifyingContract: PERMIT2 },
    types: {
      EIP712Domain: EIP712_DOMAIN.filter(({ name }) => name !== 'version'),
      PermitWitnessTransferFrom: [
        field('permitted', 'TokenPermissions'),
        field('spender', 'address'),
        field('nonce', 'uint256'),
        field('deadline', 'uint256'),
        field('witness', 'Witness'),
      ],
      TokenPermissions: [field('token', 'address'), field('amount', 'uint256')],
      Witness: [field('to', 'address'), field('validAfter', 'uint256')],
    },
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token: token.address, amount: terms.amount.toString() },
      spender,
      nonce: terms.nonce.toString(),
      deadline: terms.deadline.toString(),
      witness: { to: terms.payTo, validAfter: terms.validAfter.toString() },
    },
  };
}

export function bytes32Of(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`;
}
