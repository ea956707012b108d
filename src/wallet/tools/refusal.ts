import { z } from 'zod';
import { ChainUnavailableError, FacilitatorError } from '../../protocol/errors.js';
import type { Rule } from '../rules/evaluate.js';
import { WalletError } from '../wallet-error.js';

/** A refusal as agents and owners read it, the same over HTTP and MCP. */
export const RefusalOutput = z.object({
  error: z.string(),
  code: z.string(),
  rule: z.string().optional().describe('Which rule it was'),
  howToChange: z.string().optional().describe('Who can change that rule, and how'),
  retryAfterSeconds: z.int().optional(),
});
export type Refusal = z.infer<typeof RefusalOutput>;

/** What the owner changes for each rule; `undefined` where a change cannot help. */
const OWNERS_PART: Readonly<Record<Rule, string | undefined>> = {
  kill_switch: 'New rules start the wallet again.',
  scope_off: 'The scope has to be in "scopes".',
  unsignable: undefined,
  asset_not_listed: 'The asset has to be in "limits".',
  payee_not_listed: 'The payee has to be on a list in "payeeLists", or "otherPayees" be true.',
  per_payment: 'It is "perPayment" of the asset, in "limits" or in the payee\'s list.',
  budget:
    'It is "budget" of the asset, in "limits" or in the payee\'s list; what was spent counts until the window has passed.',
  validity: undefined,
  nonce_reused: undefined,
  max_amount: undefined,
  too_many_payments: undefined,
  ask_above: 'It is "askAbove" of the asset, in "limits" or in the payee\'s list.',
  denied_by_owner: 'Above "askAbove" of the asset each payment is the owner\'s decision.',
  too_many_asks: 'A higher "askAbove" of the asset asks about fewer payments.',
};

/** The answer of another process, which held the wallet and said no. */
export class RemoteRefusal extends FacilitatorError {
  readonly code = 'remote_refusal';

  constructor(readonly refusal: Refusal) {
    super(refusal.error);
    this.name = 'RemoteRefusal';
  }
}

/** An error other than a refusal of this service becomes "ask again": its text stays here. */
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

/** Who can change the rule that refused; empty where no one can. */
export function adviceOn(rule: string, publicUrl: string): { readonly howToChange?: string } {
  if (rule === 'max_amount') {
    return { howToChange: 'It is the "maxAmount" of this request: the caller sets it.' };
  }
  const part = isRule(rule) ? OWNERS_PART[rule] : undefined;
  return part === undefined ? {} : { howToChange: `${howToChange(publicUrl)} ${part}` };
}

export function howToChange(publicUrl: string): string {
  return `The owner signs in with POST ${publicUrl}/v1/login and sends new rules with PUT ${publicUrl}/v1/wallets/me/policy. An agent cannot.`;
}

function isRule(rule: string): rule is Rule {
  return Object.hasOwn(OWNERS_PART, rule);
}
