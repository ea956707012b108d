import { Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import { accountOf, isAuthorizationUsed } from '../../platform/chain/authorization-use.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { readUntil } from '../../platform/chain/read-until.js';
import { LOOK_BACK_BLOCKS } from '../../platform/chain/use-search/scan.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';
import { rulesOf } from '../../protocol/schemes/registry.js';
import type { UsePossibility } from '../../protocol/schemes/scheme.js';

/** The refusal is known, but finding its transaction is worth this wait. */
const USE_CHECK_TIMEOUT_MS = 1500;
/** Also where the request has no time left: what is refused may have been paid. */
const USE_CHECK_LEAST_MS = 300;
/** Pause between two attempts. */
const AGAIN_MS = 50;

/** The transaction that used an authorization. */
export interface Use {
  readonly transaction: Hex;
  /** Whether it moved exactly the payment in question. */
  readonly isPaid: boolean;
}

/**
 * The transaction of another sender that used an authorization and paid the payee the exact amount. `unknown`: the
 * authorization is used, and its transaction could not be read in time.
 */
export type PaidBy = Hex | 'unknown';

/** `undefined`: the transaction was found and did not make this payment. */
export function paidBy(use: Use | undefined): PaidBy | undefined {
  if (use === undefined) return 'unknown';
  return use.isPaid ? use.transaction : undefined;
}

/**
 * Finds the transaction that used an authorization which the ledger does not have: another sender used it, or this
 * service has archived or lost it.
 */
@Injectable()
export class UsedAuthorizationFinder {
  /**
   * The time at which a search that begins now ends.
   *
   * @param deadlineAt - when the request is to be answered, in milliseconds since the epoch.
   */
  until(deadlineAt = Infinity): number {
    const leftMs = Math.max(deadlineAt - Date.now(), USE_CHECK_LEAST_MS);
    return performance.now() + Math.min(USE_CHECK_TIMEOUT_MS, leftMs);
  }

  /**
   * @returns whether the authorization is used and this refusal reports or hides that. `undefined` where the chain does
   *   not answer in time: the refusal may then hide a payment, and must not be given.
   */
  async isUsed(
    payment: Payment,
    reason: Reason,
    chain: EvmChain,
    until: number,
  ): Promise<boolean | undefined> {
    const ref = refOfPayment(payment);
    if (ref === undefined) return false;
    const action = rulesOf(payment.claim);
    if (reason === action.reasons?.used) return true;
    const may = action.mayMeanUsed(reason);
    if (may === 'no') return false;
    return readUntil(until, AGAIN_MS, () => isHiddenUse(chain, ref, may));
  }

  /** @returns `undefined` where the search ends without a result. */
  async userOf(payment: Payment, chain: EvmChain, until: number): Promise<Use | undefined> {
    const ref = refOfPayment(payment);
    return ref && readUntil(until, AGAIN_MS, () => search(chain, ref));
  }
}

async function isHiddenUse(
  chain: EvmChain,
  ref: AuthorizationRef,
  may: Exclude<UsePossibility, 'no'>,
): Promise<boolean> {
  return chain.withView(async (view) => {
    if (may === 'if_payer_has_code' && !(await view.hasCode(ref.payer))) return false;
    return (await isAuthorizationUsed(view, ref)) === true;
  });
}

async function search(chain: EvmChain, ref: AuthorizationRef): Promise<Use | undefined> {
  const outcome = await chain.uses.find(ref, await chain.recentBlocks(LOOK_BACK_BLOCKS));
  if (outcome.kind !== 'found') return undefined;
  const { transaction, moved } = outcome.use;
  const isPaid = moved !== undefined && moved.payTo === ref.payTo && moved.amount === ref.amount;
  return { transaction, isPaid };
}

/** `undefined` for a payment that no wallet can have signed. */
export function refOfPayment({ requirements, claim }: Payment): AuthorizationRef | undefined {
  const { asset, payTo, amount } = requirements;
  const { method, from: payer, nonce } = claim;
  if (payer === undefined || nonce === undefined) return undefined;
  const paid = accountOf(rulesOf(claim).paysInto?.(claim));
  return { method, asset, payer, nonce: BigInt(nonce), payTo, amount, ...paid };
}
