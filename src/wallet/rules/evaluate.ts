import { type Address, formatUnits, zeroAddress } from 'viem';
import { assetName, type Limit, type PayeeList, type Policy, type Scope } from './policy.js';
import type { Signable, Spending } from './spending.js';
import type { Unit } from './unit.js';

/** The rule that refused; part of the interface. */
export type Rule =
  | 'kill_switch'
  | 'scope_off'
  | 'unsignable'
  | 'asset_not_listed'
  | 'payee_not_listed'
  | 'per_payment'
  | 'budget'
  | 'validity'
  | 'nonce_reused'
  | 'max_amount'
  | 'too_many_payments'
  | 'ask_above'
  | 'denied_by_owner'
  | 'too_many_asks';

export interface Refusal {
  readonly rule: Rule;
  /** For the agent and its owner, with amounts in decimals. */
  readonly message: string;
}

/** A budget that a spending is charged to. */
export interface Charge {
  /** `undefined` for the wallet as a whole. */
  readonly list: string | undefined;
  /** Atomic units. */
  readonly budget: bigint;
  /** The payees whose payments count; all payees for the wallet as a whole. */
  readonly payees: readonly Address[] | undefined;
}

/** The limit above which the owner is asked about each payment. */
export interface AskRule {
  /** `undefined` for the wallet as a whole. */
  readonly list: string | undefined;
  /** Allowed only with the owner's signature for this payment. */
  readonly askAbove: bigint;
}

type Decision =
  | {
      readonly allowed: true;
      readonly spending: Spending;
      readonly charges: readonly Charge[];
      /** Allowed only with the owner's signature for this very payment. */
      readonly ask?: AskRule;
    }
  /** Allowed by a scope; no budget is charged. */
  | { readonly allowed: true; readonly spending: undefined; readonly scope: Scope }
  | { readonly allowed: false; readonly refusal: Refusal };

/**
 * A signature with a longer validity could be spent long after it was counted, and its budget could not be released
 * until then. Sellers usually ask for 300 seconds.
 */
export const VALIDITY_MAX_SECONDS = 3600;

export const STOPPED: Refusal = {
  rule: 'kill_switch',
  message: 'The owner has stopped this wallet.',
};

/**
 * Evaluates a signing request under the rules of its wallet. Budgets are checked when they are charged.
 *
 * @param now - Unix seconds.
 */
export function evaluate(signable: Signable, policy: Policy, now: number): Decision {
  if (!policy.active) return { allowed: false, refusal: STOPPED };
  switch (signable.kind) {
    case 'unsignable':
      return refuse('unsignable', `The wallet never signs this request: ${signable.why}.`);
    case 'scoped':
      return scoped(signable.scope, signable.what, policy);
    case 'transfer':
      if (!policy.scopes.includes('send_transaction')) {
        return scoped('send_transaction', 'a transaction', policy);
      }
      // Costs only gas.
      if (signable.spending.amount === 0n && signable.spending.asset === zeroAddress) {
        return { allowed: true, spending: undefined, scope: 'send_transaction' };
      }
      return evaluateSpending(signable.spending, signable.token, policy);
    case 'payment':
      return (
        evaluateValidity(signable.spending, now) ??
        evaluateSpending(signable.spending, signable.token, policy)
      );
  }
}

function scoped(scope: Scope, what: string, policy: Policy): Decision {
  if (policy.scopes.includes(scope)) return { allowed: true, spending: undefined, scope };
  return refuse('scope_off', `Signing ${what} needs the scope ${scope}, which is off.`);
}

function evaluateValidity({ deadline }: Spending, now: number): Decision | undefined {
  if (deadline - now <= VALIDITY_MAX_SECONDS) return undefined;
  return refuse('validity', `A payment may be valid for at most ${VALIDITY_MAX_SECONDS} seconds.`);
}

const NATIVE_COIN: Unit = { symbol: 'native coin', decimals: 18 };

function evaluateSpending(spending: Spending, unit: Unit = NATIVE_COIN, policy: Policy): Decision {
  const asset = assetName(spending.chainId, spending.asset);
  const own = limitOf(policy.limits, asset);
  if (own === undefined) {
    return refuse('asset_not_listed', `The rules allow no payments in ${asset}.`);
  }
  const lists = policy.payeeLists.filter(({ payees }) => payees.includes(spending.payTo));
  if (lists.length === 0 && !policy.otherPayees) {
    return refuse('payee_not_listed', `${spending.payTo} is not on a payee list of this wallet.`);
  }
  const charges: Charge[] = [{ list: undefined, budget: own.budget, payees: undefined }];
  const tooMuch = overLimit(spending, own, unit, undefined);
  if (tooMuch !== undefined) return tooMuch;
  let ask = askOf(spending, own, undefined);
  for (const list of lists) {
    const limit = limitOf(list.limits, asset);
    if (limit === undefined) continue;
    const tooMuchForList = overLimit(spending, limit, unit, list);
    if (tooMuchForList !== undefined) return tooMuchForList;
    charges.push({ list: list.name, budget: limit.budget, payees: list.payees });
    ask ??= askOf(spending, limit, list.name);
  }
  return { allowed: true, spending, charges, ...(ask !== undefined && { ask }) };
}

function askOf(
  { amount }: Spending,
  { askAbove }: Limit,
  list: string | undefined,
): AskRule | undefined {
  return askAbove === undefined || amount <= askAbove ? undefined : { list, askAbove };
}

function overLimit(
  { amount }: Spending,
  { perPayment }: Limit,
  { symbol, decimals }: Unit,
  list: PayeeList | undefined,
): Decision | undefined {
  if (amount <= perPayment) return undefined;
  const where = list === undefined ? '' : ` to payees of "${list.name}"`;
  return refuse(
    'per_payment',
    `${formatUnits(amount, decimals)} ${symbol} is above the limit of one payment${where}: ${formatUnits(perPayment, decimals)}.`,
  );
}

function limitOf(limits: readonly Limit[], asset: string): Limit | undefined {
  return limits.find((limit) => limit.asset === asset);
}

function refuse(rule: Rule, message: string): Decision {
  return { allowed: false, refusal: { rule, message } };
}
