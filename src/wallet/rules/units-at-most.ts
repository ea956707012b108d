import { parseUnits } from 'viem';

/** The decimals of a text, and of a token, at most. */
const MOST = 18;

/**
 * A limit in atomic units, rounded down: an agent may write more decimals than the token has.
 *
 * @param text - whole tokens as a decimal.
 * @param decimals - of the token.
 */
export function unitsAtMost(text: string, decimals: number): bigint {
  return parseUnits(text, MOST) / 10n ** BigInt(MOST - decimals);
}
