import type { Address } from 'viem';

/** Whose settlements the keys of somebody may list, also while nobody asks with one. */
export interface PayeeAccess {
  /**
   * @param owner - the id of an API key, as `callerOf` tells it.
   * @returns payees in lower case; none where there is no such key any more.
   */
  payeesOfOwner(owner: string): ReadonlySet<Address>;
}

export const PayeeAccess = Symbol('PayeeAccess');
