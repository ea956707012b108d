import { type Address, formatUnits, parseUnits } from 'viem';
import { z } from 'zod';
import { addressSetting, assetSetting } from '../../platform/config/settings.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { caip2Of } from '../../protocol/payment/network.js';

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
  /** Atomic units; a payment above it waits for the owner's signature. Absent: none does. */
  readonly askAbove?: bigint;
}

/** Payees that have limits of their own, inside those of the wallet. */
export interface PayeeList {
  readonly name: string;
  readonly payees: readonly Address[];
  readonly limits: readonly Limit[];
}

/** The spending rules of one wallet. What no rule allows is refused. */
export interface Policy {
  /** Counts changes; the budget is only ever charged under the newest one. */
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
/** As the answer about the rules writes it. `atomic` counts; the other has to say the same. */
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
      // Of the answer; they change nothing.
      symbol: z.string().optional(),
      spent: amountText.optional(),
      left: amountText.optional(),
    }),
  )
  .max(50)
  .refine((all) => isUnique(all.map(({ asset }) => asset)), 'names an asset twice');

/**
 * What is asked of Redis for one answer about the rules: a sum for each limit, and one for each payee
 * of a list and limit of it.
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
  // Of the answer: rules that were read, changed and sent back are taken as they are.
  revision: z.int().optional().describe('The rules these were made from; others are not replaced.'),
  howToChange: z.string().optional(),
});
type WrittenLimits = z.infer<typeof limits>;

/** Decimals of the token of an asset; 0 where it is not known. */
type DecimalsOf = (asset: string) => number;

/**
 * Reads rules as an owner writes them.
 *
 * @param revision - which change of the rules this is.
 * @param decimalsOf - compares amounts that are written twice; stored rules have none.
 * @returns the rules, or what is wrong with them.
 */
export function readPolicy(
  sent: unknown,
  revision: number,
  decimalsOf: DecimalsOf = () => 0,
):
  | { readonly ok: true; readonly policy: Policy }
  | { readonly ok: false; readonly problem: string } {
  const parsed = PolicyText.safeParse(sent);
  if (!parsed.success) return { ok: false, problem: z.prettifyError(parsed.error) };
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

/** An owner who changed one of the two forms of an amount meant that one: neither is guessed at. */
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

/** Above `perPayment` nothing is paid, even with an approval. */
function uselessAsk(
  { asset, perPayment, askAbove }: WrittenLimits[number],
  decimalsOf: DecimalsOf,
): string | undefined {
  const decimals = decimalsOf(asset);
  if (askAbove === undefined || unitsOf(askAbove, decimals) <= unitsOf(perPayment, decimals))
    return undefined;
  return `askAbove of ${asset}: must be at most perPayment, above which no payment is made.`;
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

/** Rules as they go over the wire and into storage; {@link readPolicy} reads them back. */
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

/** The rules a new wallet starts with: payments in known tokens, within the operator's limits. */
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
