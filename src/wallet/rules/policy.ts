import { type Address, formatUnits, parseUnits } from 'viem';
import { z } from 'zod';
import { addressSetting, assetSetting } from '../../platform/config/settings.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { Place } from '../../protocol/diagnosis/place.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { inPlainWords, placeOfIssue } from './issue-place.js';

/**
 * Actions that are refused unless the owner allows them. Payments to known tokens need none of
 * these.
 */
const SCOPES = [
  'personal_sign',
  'send_transaction',
  'contract_call',
  'approve',
  'permit',
  'typed_data',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Limits of one asset. */
export interface Limit {
  /** `eip155:56/0x…`, lower case. The native coin is the zero address. */
  readonly asset: string;
  /** Atomic units. */
  readonly perPayment: bigint;
  /** Atomic units in any window of the policy's length. */
  readonly budget: bigint;
  /** Atomic units; a payment above it waits for the owner's signature. Absent: no payment does. */
  readonly askAbove?: bigint;
}

/** Payees with their own limits, inside those of the wallet. */
export interface PayeeList {
  readonly name: string;
  readonly payees: readonly Address[];
  readonly limits: readonly Limit[];
}

/** The spending rules of one wallet. Everything that no rule allows is refused. */
export interface Policy {
  /** The number of changes; the budget is charged only under the newest revision. */
  readonly revision: number;
  /** The kill switch: while `false`, nothing is signed. */
  readonly active: boolean;
  readonly windowHours: number;
  readonly limits: readonly Limit[];
  readonly payeeLists: readonly PayeeList[];
  /** Whether payees that are on no list may be paid. */
  readonly otherPayees: boolean;
  readonly scopes: readonly Scope[];
}

const atomicUnits = z.string().regex(/^\d{1,78}$/, 'must be atomic units, as a decimal string');
/** As the answer about the rules writes it. `atomic` counts; `decimal` must be equal to it. */
const amountText = z.strictObject({ atomic: atomicUnits, decimal: z.string().max(120) });
/** As a person writes it, in whole tokens. */
const whole = z.strictObject({
  decimal: z.string().regex(/^\d{1,60}(\.\d{1,36})?$/, 'must be a decimal number of tokens'),
});
const amount = z.union([atomicUnits, amountText, whole]);
const limits = z
  .array(
    z.strictObject({
      asset: assetSetting,
      perPayment: amount,
      budget: amount,
      askAbove: amount.optional(),
      // From the answer; these fields change nothing.
      symbol: z.string().optional(),
      spent: amountText.optional(),
      left: amountText.optional(),
    }),
  )
  .max(50)
  .refine((all) => isUnique(all.map(({ asset }) => asset)), 'names an asset twice');

/**
 * The maximum of sums that one answer about the rules reads from Redis: one for each limit, and one for each payee of a
 * list and limit of it.
 */
const SUMS_MAX = 2000;

/** Rules as an owner writes them. */
export const PolicyText = z.strictObject({
  active: z.boolean().default(true),
  windowHours: z.int().min(1).max(720).default(24),
  limits,
  payeeLists: z
    .array(
      z.strictObject({
        name: z
          .string()
          .regex(/^[\w -]{1,40}$/, 'must be 1 to 40 letters, digits, blanks or dashes'),
        payees: z.array(addressSetting).min(1).max(200),
        limits,
      }),
    )
    .max(20)
    .refine((all) => isUnique(all.map(({ name }) => name)), 'names a list twice')
    .refine(
      (all) =>
        all.reduce((sum, list) => sum + list.payees.length * Math.max(1, list.limits.length), 0) <=
        SUMS_MAX,
      `has more than ${SUMS_MAX} payees, each counted once for each limit of its list`,
    )
    .default([]),
  otherPayees: z.boolean().default(true),
  scopes: z.array(z.enum(SCOPES)).max(SCOPES.length).default([]),
  // From the answer: rules that were read, changed and sent back are accepted unchanged.
  revision: z
    .int()
    .optional()
    .describe(
      'The revision that these rules are based on. The request is refused if another revision is in force.',
    ),
  howToChange: z.string().optional(),
});
type WrittenLimits = z.infer<typeof limits>;

/** Decimals of an asset's token; 0 if they are unknown. */
type DecimalsOf = (asset: string) => number;

/**
 * Reads rules as an owner writes them.
 *
 * @param revision - the number of this change.
 * @param decimalsOf - compares amounts in two forms; stored rules have only one.
 * @returns the rules, or the fault in them.
 */
export function readPolicy(
  sent: unknown,
  revision: number,
  decimalsOf: DecimalsOf = () => 0,
):
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly problem: string; readonly place?: Place | undefined } {
  const parsed = PolicyText.safeParse(sent, { error: inPlainWords, reportInput: true });
  if (!parsed.success) {
    const [first] = parsed.error.issues;
    const place = first && placeOfIssue(first);
    return { ok: false, problem: z.prettifyError(parsed.error), place };
  }
  const { active, windowHours, payeeLists, otherPayees, scopes } = parsed.data;
  const all = [parsed.data.limits, ...payeeLists.map((list) => list.limits)].flat();
  const problem = all
    .map((limit) => contradiction(limit, decimalsOf) ?? uselessAsk(limit, decimalsOf))
    .find(Boolean);
  if (problem !== undefined) return { ok: false, problem };
  return {
    ok: true,
    policy: {
      revision,
      active,
      windowHours,
      otherPayees,
      scopes,
      limits: limitsOf(parsed.data.limits, decimalsOf),
      payeeLists: payeeLists.map((list) => ({
        ...list,
        limits: limitsOf(list.limits, decimalsOf),
      })),
    },
  };
}

/**
 * An owner who changed only one of the two forms of an amount made a mistake; the service does not guess which one
 * counts.
 */
function contradiction(limit: WrittenLimits[number], decimalsOf: DecimalsOf): string | undefined {
  for (const name of ['perPayment', 'budget', 'askAbove'] as const) {
    const written = limit[name];
    if (written === undefined || typeof written === 'string') continue;
    const decimals = decimalsOf(limit.asset);
    if (!('atomic' in written)) {
      const [, fraction = ''] = written.decimal.split('.');
      if (fraction.length <= decimals) continue;
      return `${name} of ${limit.asset}: the token has ${decimals} decimals, and ${written.decimal} has more.`;
    }
    const expected = formatUnits(BigInt(written.atomic), decimals);
    if (written.decimal !== expected) {
      return `${name} of ${limit.asset}: atomic and decimal differ; atomic is ${expected}. Send both alike, or atomic units alone as text.`;
    }
  }
  return undefined;
}

/** Above `perPayment` no payment is made, even with an approval. */
function uselessAsk(
  { asset, perPayment, askAbove }: WrittenLimits[number],
  decimalsOf: DecimalsOf,
): string | undefined {
  const decimals = decimalsOf(asset);
  if (askAbove === undefined || unitsOf(askAbove, decimals) <= unitsOf(perPayment, decimals))
    return undefined;
  return `askAbove of ${asset}: must be at most perPayment, because larger payments are refused.`;
}

const limitsOf = (written: WrittenLimits, decimalsOf: DecimalsOf): Limit[] =>
  written.map(({ asset, perPayment, budget, askAbove }) => {
    const decimals = decimalsOf(asset);
    return {
      asset,
      perPayment: unitsOf(perPayment, decimals),
      budget: unitsOf(budget, decimals),
      ...(askAbove !== undefined && { askAbove: unitsOf(askAbove, decimals) }),
    };
  });

function unitsOf(written: z.infer<typeof amount>, decimals: number): bigint {
  if (typeof written === 'string') return BigInt(written);
  return 'atomic' in written ? BigInt(written.atomic) : parseUnits(written.decimal, decimals);
}

/** Rules for the wire and for storage; {@link readPolicy} reads them. */
export function policyText(policy: Policy): Readonly<Record<string, unknown>> {
  const written = (all: readonly Limit[]) =>
    all.map(({ asset, perPayment, budget, askAbove }) => ({
      asset,
      perPayment: perPayment.toString(),
      budget: budget.toString(),
      ...(askAbove !== undefined && { askAbove: askAbove.toString() }),
    }));
  return {
    active: policy.active,
    windowHours: policy.windowHours,
    limits: written(policy.limits),
    payeeLists: policy.payeeLists.map((list) => ({ ...list, limits: written(list.limits) })),
    otherPayees: policy.otherPayees,
    scopes: policy.scopes,
  };
}

/** The first rules of a new wallet: payments in known tokens, within the operator's limits. */
export function firstPolicy({ assets, maxPerPayment, budget, windowHours }: WalletConfig): Policy {
  return {
    revision: 1,
    active: true,
    windowHours,
    limits: assets.map(({ chainId, address, decimals }) => ({
      asset: assetName(chainId, address),
      perPayment: inAtomicUnits(maxPerPayment, decimals),
      budget: inAtomicUnits(budget, decimals),
    })),
    payeeLists: [],
    otherPayees: true,
    scopes: [],
  };
}

export function assetName(chainId: number, address: Address): string {
  return `${caip2Of(chainId)}/${address.toLowerCase()}`;
}

/** @param value - in 10^-18 of a token. */
export function inAtomicUnits(value: bigint, decimals: number): bigint {
  return value / 10n ** BigInt(18 - decimals);
}

function isUnique(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}
