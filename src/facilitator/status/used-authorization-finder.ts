import { Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import { accountOf, isAuthorizationUsed } from '../../platform/chain/authorization-use.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { readUntil } from '../../platform/chain/read-until.js';
import { LOOK_BACK_BLOCKS } from '../../platform/chain/use-search/scan.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';
import { judgeOf } from '../../protocol/schemes/registry.js';
import type { HiddenUse } from '../../protocol/schemes/scheme.js';

/** The refusal is known; its hash is worth waiting for this long. */
const USE_CHECK_TIMEOUT_MS = 1500;
/** Between two attempts to ask for it. */
const AGAIN_MS = 50;

/** Who used an authorization. */
export interface Use {
  readonly transaction: Hex;
  /** Whether it moved exactly the payment that is asked about. */
  readonly isPaid: boolean;
}

/**
 * The transaction, not of this service, that used an authorization and paid the payee exactly what was asked. `unknown`: the
 * authorization is used, and the transaction could not be read in time.
 */
export type PaidBy = Hex | 'unknown';

/** `undefined`: the transaction was found, and did not pay this. */
export function paidBy(use: Use | undefined): PaidBy | undefined {
  if (use === undefined) return 'unknown';
  return use.isPaid ? use.transaction : undefined;
}

/**
 * Names the transaction that used an authorization which the ledger does not know: this service never
 * saw it, or has archived it, or its ledger was lost.
 */
@Injectable()
export class UsedAuthorizationFinder {
  /** When a search that begins now is given up. */
  until(): number {
    return performance.now() + USE_CHECK_TIMEOUT_MS;
  }

  /**
   * @returns whether the authorization is used, and a refusal for this reason says so or hides it. `undefined` where the
   * chain does not answer in time: the refusal may then hide that the payment was made, and must not be given.
   */
  async isUsed(
    payment: Payment,
    reason: Reason,
    chain: EvmChain,
    until: number,
  ): Promise<boolean | undefined> {
    const ref = refOfPayment(payment);
    if (ref === undefined) return false;
    const action = judgeOf(payment.claim);
    if (reason === action.reasons.used) return true;
    const may = action.mayHideUse(reason);
    if (may === 'no') return false;
    return readUntil(until, AGAIN_MS, () => isHiddenUse(chain, ref, may));
  }

  /** @returns `undefined` where it is not found in time. */
  async userOf(payment: Payment, chain: EvmChain, until: number): Promise<Use | undefined> {
    const ref = refOfPayment(payment);
    return ref && readUntil(until, AGAIN_MS, () => search(chain, ref));
  }
}

async function isHiddenUse(
  chain: EvmChain,
  ref: AuthorizationRef,
  may: Exclude<HiddenUse, 'no'>,
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

/** `undefined` for a payment no wallet can have signed. */
export function refOfPayment({ requirements, claim }: Payment): AuthorizationRef | undefined {
  const { asset, payTo, amount } = requirements;
  const { method, from: payer, nonce } = claim;
  if (payer === undefined || nonce === undefined) return undefined;
  const paid = accountOf(judgeOf(claim).paysInto?.(claim));
  return { method, asset, payer, nonce: BigInt(nonce), payTo, amount, ...paid };
}
