import type { Address, Hex } from 'viem';
import { aggregateCall, type Call, withSuffix } from '../evm/calls.js';
import type { Sender, Settlement } from '../evm/chain-reader.js';
import type { Transfer } from '../evm/logs.js';
import { actionOf } from '../schemes/registry.js';
import type { Preparation } from '../schemes/scheme.js';
import type { AcceptedPayment, InFlightKind } from './accepted-payment.js';

/** The facts of an accepted payment, by its scheme. */

/** The call that makes the payment. */
export function callOf(payment: AcceptedPayment): Call {
  const { authorization, dataSuffix } = payment;
  return withSuffix(actionOf(authorization).callOf(authorization, payment), dataSuffix);
}

/**
 * The call of a transaction with several payments, each of which may fail by itself.
 *
 * @param dataSuffix - the end of the transaction; each call in it has its own.
 */
export function batchCallOf(
  payments: readonly AcceptedPayment[],
  dataSuffix: Hex | undefined,
): Call {
  return withSuffix(aggregateCall(payments.map(callOf)), dataSuffix);
}

/** The token transfer of the payment. */
export function transferOf(payment: AcceptedPayment): Transfer {
  const { authorization } = payment;
  return actionOf(authorization).transferOf(authorization, payment);
}

/**
 * The call that is simulated before the payment is sent.
 *
 * @param gas - limit of the transaction.
 */
export function settlementOf(
  payment: AcceptedPayment,
  sender: Sender | undefined,
  gas: bigint,
): Settlement {
  const { authorization } = payment;
  const action = actionOf(authorization);
  const { asset, payer, payTo, amount } = action.transferOf(authorization, payment);
  const call = callOf(payment);
  const isSenderBound = soleSenderOf(payment) !== undefined;
  const bound = isSenderBound && { isSenderBound };
  const runs = action.runsCodeOf?.(authorization);
  const code = runs !== undefined && { runsCodeOf: runs };
  return { call, sender, ...bound, gas, token: asset, payer, ...code, payTo, amount };
}

/** The account whose code the call may run besides the code of the token. Lower case. */
export function runsCodeOf({ authorization }: Pick<AcceptedPayment, 'authorization'>): Address {
  return actionOf(authorization).runsCodeOf?.(authorization) ?? authorization.from;
}

/** The account whose gas budget and share of the queue the payment uses. Lower case. */
export function chargedTo({
  authorization,
  payTo,
}: Pick<AcceptedPayment, 'authorization' | 'payTo'>): Address {
  return actionOf(authorization).chargedTo?.(authorization) ?? payTo;
}

/** The payer's own transaction that must be mined first; `undefined` where the payment needs none. */
export function preparationOf(payment: AcceptedPayment): Preparation | undefined {
  const { authorization } = payment;
  return actionOf(authorization).preparationOf?.(authorization, payment);
}

/** @param usual - gas limit of one payment, `MAX_GAS_PER_SETTLE`. */
export function gasCapOf({ authorization }: AcceptedPayment, usual: bigint): bigint {
  return actionOf(authorization).gasCapOf?.(authorization, usual) ?? usual;
}

/** A contract that the call runs because the payload names it. Lower case. */
export function chosenContractOf({ authorization }: AcceptedPayment): Address | undefined {
  return actionOf(authorization).chosenContractOf?.(authorization);
}

/** The same payment, if its payer has code by now. */
export function ofDeployedPayer(payment: AcceptedPayment): AcceptedPayment {
  const { authorization } = payment;
  const own = actionOf(authorization).ofDeployedPayer?.(authorization) ?? authorization;
  return { ...payment, authorization: own, payerHasCode: true };
}

export function inFlightKindOf({ authorization }: AcceptedPayment): InFlightKind {
  return actionOf(authorization).inFlightKindOf(authorization);
}

/** The nonce of the authorization (not of an account), as one number whatever its spelling. */
export function authorizationNonceOf({ authorization }: AcceptedPayment): bigint {
  return actionOf(authorization).nonceOf(authorization);
}

/** Unix seconds at which the chain stops accepting the authorization. */
export function deadlineOf({ authorization }: AcceptedPayment): bigint {
  return actionOf(authorization).deadlineOf(authorization);
}

const DEADLINE_MAX = 99_999_999_999;
const DEADLINE_BOUND = BigInt(DEADLINE_MAX);

/** Unix seconds, bounded so that it survives as a JavaScript number (some wallets sign 2^256 - 1). */
export function boundedDeadlineOf(payment: AcceptedPayment): number {
  const deadline = deadlineOf(payment);
  return deadline > DEADLINE_BOUND ? DEADLINE_MAX : Number(deadline);
}

/** Whether a block of this time, and any later one, refuses the payment. */
export function isExpiredAt({ authorization }: AcceptedPayment, blockTime: number): boolean {
  return actionOf(authorization).isExpiredAt(authorization, BigInt(blockTime));
}

/** The amount that a settle binds, if less than the signed amount may be settled. */
export function settledAmountOf({ authorization, amount }: AcceptedPayment): bigint | undefined {
  return actionOf(authorization).settlesLess === true ? amount : undefined;
}

/** Whether the payment is settled by its record alone, without a transaction. */
export function needsNoTransaction({ authorization, amount }: AcceptedPayment): boolean {
  return actionOf(authorization).needsNoTransaction?.(amount) === true;
}

/** The names that are suspended if its transactions fail repeatedly after a successful simulation. */
export function blamedFor({ authorization }: AcceptedPayment): readonly string[] {
  const action = actionOf(authorization);
  const suspects = action.culprits?.suspects(authorization);
  return suspects ?? action.blamedFor?.(authorization) ?? [authorization.from];
}

/** Channels whose claimed total its transaction raises. */
export function channelsRaisedBy({ authorization }: AcceptedPayment): readonly Hex[] {
  return actionOf(authorization).raisedBy?.(authorization) ?? [];
}

/** The only account that may send it; `undefined` if any lane may. Lower case. */
export function soleSenderOf({ authorization }: AcceptedPayment): Address | undefined {
  return actionOf(authorization).soleSenderOf?.(authorization);
}
