import type { ChainView } from '../../platform/chain/chain-view.js';
import { decodeUint } from '../../protocol/evm/call-results.js';
import { balanceOfCall, type Call } from '../../protocol/evm/calls.js';
import type { Payment } from '../../protocol/payment/payment.js';
import { actionOf, rulesOf } from '../../protocol/schemes/registry.js';
import { type GoodVerdict, type Refusal, refuseByState } from '../../protocol/schemes/verdict.js';
import type { InFlight } from '../../settlement/ledger/queries/in-flight.js';
import type { PayerMeans } from '../../settlement/ledger/settlement-store.js';

export type InFlightCount =
  | { readonly kind: 'enough'; readonly means: PayerMeans }
  /**
   * - `unsure`: the funds would suffice without the payments in flight. A payment that a block has taken from the
   *   balance, and that the ledger has not released yet, is counted twice.
   */
  | { readonly kind: 'short' | 'unsure'; readonly refusal: Refusal };

const NOTHING_NEEDED: PayerMeans = { balance: undefined, allowance: undefined };

/** Amounts of the payer's payments in flight count against its balance and its allowance. */
export async function countInFlight(
  view: ChainView,
  { requirements: { asset, amount } }: Payment,
  { balanceNeeded, allowanceNeeded, hasSponsoredPermit }: InFlight,
  { authorization }: GoodVerdict,
): Promise<InFlightCount> {
  const takesNothing = rulesOf(authorization).needsNoTransaction?.(amount) === true;
  if (takesNothing) return { kind: 'enough', means: NOTHING_NEEDED };
  const action = actionOf(authorization);
  const { reasons } = action;
  const kind = action.inFlightKindOf(authorization);
  if (kind === 'n' || kind === 'c') return { kind: 'enough', means: NOTHING_NEEDED };
  // Its permit has the nonce of the permit in flight, or the next one, so they must run one after the other.
  if (hasSponsoredPermit && kind === 's') {
    return { kind: 'short', refusal: refuseByState(reasons.insufficientAllowance) };
  }
  const needed = allowanceNeeded > 0n ? action.allowanceCall?.(authorization, asset) : undefined;
  const [balance, allowance] = await Promise.all([
    balanceNeeded > 0n ? readUint(view, balanceOfCall(asset, authorization.from)) : undefined,
    needed && readUint(view, needed),
  ]);
  const limits = [
    { has: balance, inFlight: balanceNeeded, reason: reasons.insufficientBalance },
    { has: allowance, inFlight: allowanceNeeded, reason: reasons.insufficientAllowance },
  ];
  for (const { has, inFlight, reason } of limits) {
    if (has !== undefined && has < amount + inFlight) {
      return { kind: has < amount ? 'short' : 'unsure', refusal: refuseByState(reason) };
    }
  }
  return { kind: 'enough', means: { balance, allowance } };
}

async function readUint(view: ChainView, call: Call): Promise<bigint | undefined> {
  return decodeUint(await view.call(call));
}
