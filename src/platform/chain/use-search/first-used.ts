import { ChainUnavailableError } from '../../../protocol/errors.js';
import type { AuthorizationRef } from '../../../protocol/schemes/authorization-method.js';
import { isAuthorizationUsed } from '../authorization-use.js';
import type { ChainView } from '../chain-view.js';
import type { SearchBudget } from './budget.js';

/** Where the state of past blocks shows the first use of an authorization. */
type FirstUsed =
  /** In this block, and no other. */
  | { readonly kind: 'in'; readonly block: bigint }
  /** Not in the range: unused at its end, or used before its beginning. */
  | { readonly kind: 'outside' }
  /** In this block or an older one, because nodes keep the state of their newest blocks only. */
  | { readonly kind: 'not_after'; readonly block: bigint };

/**
 * Finds the block that used an authorization from the state of past blocks: in leaps backwards from the newest, then by
 * halves. It needs neither logs nor blocks, and few calls for any number of transactions.
 *
 * @throws BudgetSpentError
 */
export async function firstUsedBlock(
  view: ChainView,
  ref: AuthorizationRef,
  { from, to }: { readonly from: bigint; readonly to: bigint },
  budget: SearchBudget,
): Promise<FirstUsed> {
  const at = (block: bigint): Promise<boolean | undefined> => usedAt(view, ref, block, budget);
  const atEnd = await at(to);
  if (atEnd === undefined) return { kind: 'not_after', block: to };
  if (!atEnd) return { kind: 'outside' };
  const before = from > 0n ? from - 1n : 0n;
  let used = to;
  for (let leap = 1n; used > before; leap *= 2n) {
    const back = used - leap > before ? used - leap : before;
    const wasUsed = await at(back);
    if (wasUsed === undefined) return { kind: 'not_after', block: used };
    if (!wasUsed) return halve(at, back, used);
    used = back;
  }
  return { kind: 'outside' };
}

async function halve(
  at: (block: bigint) => Promise<boolean | undefined>,
  unusedAt: bigint,
  firstKnown: bigint,
): Promise<FirstUsed> {
  let unused = unusedAt;
  let used = firstKnown;
  while (used - unused > 1n) {
    const middle = (unused + used) / 2n;
    const wasUsed = await at(middle);
    if (wasUsed === undefined) return { kind: 'not_after', block: used };
    if (wasUsed) used = middle;
    else unused = middle;
  }
  return { kind: 'in', block: used };
}

/** `undefined` where the token does not answer, or this node no longer has the state. */
async function usedAt(
  view: ChainView,
  ref: AuthorizationRef,
  block: bigint,
  budget: SearchBudget,
): Promise<boolean | undefined> {
  budget.spend();
  try {
    return await isAuthorizationUsed(view, ref, { blockNumber: block });
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    return undefined;
  }
}
