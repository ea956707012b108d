/** The amounts of one payer in flight in one token, counted at one moment. */
export interface InFlight {
  /** Atomic units that will leave the payer's balance. */
  readonly balanceNeeded: bigint;
  /** Atomic units that will be taken from the allowance of the payer. */
  readonly allowanceNeeded: bigint;
  readonly hasSponsoredPermit: boolean;
  /** Number of claims of a receiver of channels. */
  readonly claims: number;
}

export const NOTHING_IN_FLIGHT: InFlight = {
  balanceNeeded: 0n,
  allowanceNeeded: 0n,
  hasSponsoredPermit: false,
  claims: 0,
};

/**
 * Reads the totals of a payer and token, without the entry of a settlement itself (`<kind>:<amount>`, or empty if it
 * is not in flight), and the number of claims.
 */
export function readInFlight(totals: readonly string[]): InFlight {
  const [balance = '0', allowance = '0', permits = '0', own = '', claims = '0'] = totals;
  const ownAmount = own === '' ? 0n : BigInt(own.slice(2));
  const isOwn = (kind: string): boolean => own.startsWith(kind);
  return {
    balanceNeeded: BigInt(balance) - ownAmount,
    allowanceNeeded: BigInt(allowance) - (isOwn('p') ? ownAmount : 0n),
    hasSponsoredPermit: Number(permits) - (isOwn('s') ? 1 : 0) > 0,
    claims: Number(claims),
  };
}
