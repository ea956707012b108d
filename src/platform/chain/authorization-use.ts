import type { Address, Hex } from 'viem';
import { authorizationNonceOf } from '../../protocol/evm/authorization.js';
import { authorizationStateCall, isBitSet, nonceBitmapCall } from '../../protocol/evm/calls.js';
import { READ_GAS } from '../../protocol/evm/chain-reader.js';
import { decodeBoolean, decodeUint } from '../../protocol/evm/call-results.js';
import { uintWord } from '../../protocol/evm/abi-words.js';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import { CodeUnresponsiveError } from '../../protocol/errors.js';
import type { BlockPoint } from './chain-queries.js';
import type { ChainView } from './chain-view.js';
import type { TransferMethod } from '../../protocol/evm/transfer-method.js';

/** An authorization as the chain knows it, and the payment it should make where that is known. */
export interface AuthorizationRef {
  readonly method: TransferMethod;
  readonly asset: Address;
  readonly payer: Address;
  readonly nonce: bigint;
  readonly payTo?: Address;
  /** Atomic units. */
  readonly amount?: bigint;
}

export function refOf({ asset, payTo, amount, authorization }: AcceptedPayment): AuthorizationRef {
  return {
    method: authorization.method,
    asset,
    payer: authorization.from,
    nonce: authorizationNonceOf(authorization),
    payTo,
    amount,
  };
}

/** What the chain says of an authorization. */
export type AuthorizationState =
  /** Executed or cancelled. */
  | 'used'
  | 'unused'
  /** The token does not answer the question: it reverts, burns the gas it is given, or says no yes or no. */
  | 'cannot_tell';

/**
 * Asks once, within {@link READ_GAS} and the time limit of the view. A token that does not answer while
 * its node answers others is one that cannot tell.
 *
 * @throws ChainUnavailableError when the node does not answer at all.
 */
export async function readAuthorizationState(
  view: ChainView,
  { method, asset, payer, nonce }: AuthorizationRef,
  at: BlockPoint = 'latest',
): Promise<AuthorizationState> {
  const isEip3009 = method === 'eip3009';
  const call = isEip3009
    ? authorizationStateCall(asset, payer, `0x${uintWord(nonce)}`)
    : nonceBitmapCall(payer, nonce);
  try {
    const outcome = await view.call(call, READ_GAS, at);
    if (isEip3009) return stateOf(decodeBoolean(outcome));
    const bitmap = decodeUint(outcome);
    return stateOf(bitmap === undefined ? undefined : isBitSet(bitmap, nonce));
  } catch (error) {
    if (error instanceof CodeUnresponsiveError) return 'cannot_tell';
    throw error;
  }
}

function stateOf(isUsed: boolean | undefined): AuthorizationState {
  if (isUsed === undefined) return 'cannot_tell';
  return isUsed ? 'used' : 'unused';
}

/**
 * Whether the chain has executed or cancelled the authorization.
 *
 * @returns `undefined` when the token does not answer the question.
 * @throws ChainUnavailableError
 */
export async function isAuthorizationUsed(
  ...read: Parameters<typeof readAuthorizationState>
): Promise<boolean | undefined> {
  const state = await readAuthorizationState(...read);
  return state === 'cannot_tell' ? undefined : state === 'used';
}

/** A transaction that used an authorization. */
export interface AuthorizationUse {
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  /** Index of the `Transfer` it made for exactly this payment, where its calldata shows that it did. */
  readonly logIndex: number | undefined;
}
