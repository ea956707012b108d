import type { Address, Hex } from 'viem';
import { CodeUnresponsiveError } from '../../protocol/errors.js';
import { READ_GAS } from '../../protocol/evm/chain-reader.js';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import {
  authorizationNonceOf,
  gasCapOf,
  transferOf,
} from '../../protocol/payment/payment-facts.js';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';
import { actionOf, methodNamed } from '../../protocol/schemes/registry.js';
import type { PaidAccount } from '../../protocol/schemes/scheme.js';
import type { BlockPoint } from './chain-queries.js';
import type { ChainView } from './chain-view.js';

export function refOf(payment: AcceptedPayment): AuthorizationRef {
  const { method } = payment.authorization;
  const { asset, payer, payTo, amount } = transferOf(payment);
  return {
    method,
    asset,
    payer,
    nonce: authorizationNonceOf(payment),
    payTo,
    amount,
    ...accountOf(actionOf(payment.authorization).paysInto?.(payment.authorization)),
  };
}

/** The account that receives an authorization's transfer and how the chain shows it, if it is not the payee. */
export function accountOf(
  paid: PaidAccount | undefined,
): Pick<AuthorizationRef, 'payTo' | 'shownBy'> {
  return paid === undefined ? {} : { payTo: paid.account, shownBy: paid.shownBy };
}

/** The state of an authorization on the chain. */
type AuthorizationState =
  /** Executed or cancelled. */
  | 'used'
  | 'unused'
  /** The token does not answer: it reverts, burns its gas, or returns no boolean. */
  | 'cannot_tell';

/**
 * Asks once, within {@link READ_GAS} and the time limit of the view. A token that does not answer while its node
 * answers other calls counts as `cannot_tell`.
 *
 * @throws ChainUnavailableError when the node does not answer at all.
 */
export async function readAuthorizationState(
  view: ChainView,
  ref: AuthorizationRef,
  at: BlockPoint = 'latest',
): Promise<AuthorizationState> {
  const method = methodNamed(ref.method);
  try {
    return stateOf(method.readState(await view.call(method.stateCall(ref), READ_GAS, at), ref));
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

/**
 * Whether the purpose of a payment is achieved: its authorization was executed or cancelled, or the state of its
 * contract shows it.
 *
 * @returns `undefined` when the contract does not answer the question.
 * @throws ChainUnavailableError
 */
export async function isDone(
  view: ChainView,
  payment: AcceptedPayment,
  at: BlockPoint = 'latest',
): Promise<boolean | undefined> {
  const { authorization } = payment;
  const { evidence } = actionOf(authorization);
  if (evidence.by === 'logs') return isAuthorizationUsed(view, refOf(payment), at);
  try {
    const gas = gasCapOf(payment, READ_GAS);
    return evidence.isDone(await view.call(evidence.callOf(authorization), gas, at), authorization);
  } catch (error) {
    if (error instanceof CodeUnresponsiveError) return undefined;
    throw error;
  }
}

/** A transaction that used an authorization. */
export interface AuthorizationUse {
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  /** Index of the log that made exactly this payment, if the receipt shows it. */
  readonly logIndex: number | undefined;
  /** Other logs that fit this payment equally; each pays for one. */
  readonly otherLogs?: readonly number[];
  /** Payee and amount that its transaction moved with this authorization, if the receipt shows them. */
  readonly moved?: { readonly payTo: Address; readonly amount: bigint; readonly logIndex: number };
}
