import { z } from 'zod';
import { ChainUnavailableError, FacilitatorError } from '../../protocol/errors.js';
import type { Rule } from '../rules/evaluate.js';
import { WalletError } from '../wallet-error.js';

/** A refusal as agents and owners read it, the same over HTTP and MCP. */
export const RefusalOutput = z.object({
  error: z.string(),
  code: z.string(),
  rule: z.string().optional().describe('The rule that refused'),
  howToChange: z.string().optional().describe('Who can change the rule, and how'),
  retryAfterSeconds: z.int().optional(),
});
export type Refusal = z.infer<typeof RefusalOutput>;

/** The change by the owner that each rule needs; `undefined` where a change cannot help. */
const OWNERS_PART: Readonly<Record<Rule, string | undefined>> = {
  kill_switch: 'The wallet is stopped; new rules start it again.',
  scope_off: 'Add the scope to "scopes".',
  unsignable: undefined,
  asset_not_listed: 'Add the asset to "limits".',
  payee_not_listed: 'Add the payee to a list in "payeeLists", or set "otherPayees" to true.',
  per_payment: 'The limit is "perPayment" of the asset, in "limits" or in the list of the payee.',
  budget:
    'The limit is "budget" of the asset, in "limits" or in the list of the payee. Payments count until the window has passed.',
  validity: undefined,
  nonce_reused: undefined,
  max_amount: undefined,
  too_many_payments: undefined,
  ask_above: 'The limit is "askAbove" of the asset, in "limits" or in the list of the payee.',
  denied_by_owner: 'The owner decides on each payment above "askAbove" of the asset.',
  too_many_asks: 'With a higher "askAbove" of the asset, fewer payments need the owner.',
};

/** The refusal of another process that holds the wallet. */
export class RemoteRefusal extends FacilitatorError {
  readonly code = 'remote_refusal';

  constructor(readonly refusal: Refusal) {
    super(refusal.error);
    this.name = 'RemoteRefusal';
  }
}

/** An internal error becomes "ask again", and its text is not shown. */
export function refusalOf(error: FacilitatorError, publicUrl: string): Refusal {
  if (error instanceof RemoteRefusal) return error.refusal;
  if (!(error instanceof WalletError)) {
    const what = error instanceof ChainUnavailableError ? 'The chain' : 'The wallet';
    return { error: `${what} is unavailable. Try again.`, code: 'unavailable' };
  }
  const { rule, retryAfterSeconds } = error.facts;
  return {
    error: error.message,
    code: error.code,
    ...(rule !== undefined && { rule, ...adviceOn(rule, publicUrl) }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** The person who can change the rule that refused; empty where a change cannot help. */
export function adviceOn(rule: string, publicUrl: string): { readonly howToChange?: string } {
  if (rule === 'max_amount') {
    return { howToChange: 'The limit is the "maxAmount" of this request: the caller sets it.' };
  }
  const part = isRule(rule) ? OWNERS_PART[rule] : undefined;
  return part === undefined ? {} : { howToChange: `${howToChange(publicUrl)} ${part}` };
}

export function howToChange(publicUrl: string): string {
  return `The owner signs in with POST ${publicUrl}/v1/login and sends new rules with PUT ${publicUrl}/v1/wallets/me/policy. An agent cannot change the rules.`;
}

function isRule(rule: string): rule is Rule {
  return Object.hasOwn(OWNERS_PART, rule);
}
